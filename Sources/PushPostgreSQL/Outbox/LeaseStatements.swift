internal import PushStore

/// The statements that find and lock due pushes of a lane.
struct LeaseStatements {
    /// Pushes of the lane `$1` and the queue `$2` that became due between the mark `$4` and now,
    /// `$3`; at most `$5`.
    let above: String
    /// Pushes of the lane and the queue that became due before the mark.
    let below: String
    /// The push of the notification `$1` to the device `$2`, if it is in the lane `$3` and due at
    /// `$4`.
    let one: String
    /// Whether the last parameter is the server that must have the devices' streams.
    let areOfHolder: Bool

    static let all = LeaseStatements(areOfHolder: false)
    /// The statements for the lanes of event streams.
    static let ofStreams = LeaseStatements(areOfHolder: true)

    private init(areOfHolder: Bool) {
        self.areOfHolder = areOfHolder
        // A push that was withdrawn while it was being sent is only settled, which any server can
        // do.
        func condition(_ value: String) -> String {
            areOfHolder ? " and (p.is_withdrawn or \(StreamHolder.ofPush) = \(value))" : ""
        }
        let lane = "p.lane = $1 and p.is_bulk = $2 and p.due_at <= $3"
        self.above = DueDelivery.select(where: "\(lane) and p.due_at >= $4\(condition("$6"))", limit: "$5")
        self.below = DueDelivery.select(where: "\(lane) and p.due_at < $4\(condition("$6"))", limit: "$5")
        self.one = DueDelivery.select(
            where: "p.notification_id = $1 and p.device = $2 and p.lane = $3 and p.due_at <= $4\(condition("$5"))",
            limit: "1"
        )
    }
}
