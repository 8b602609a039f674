internal import PushStore

/// The statements that find and lock the due pushes of a lane.
struct LeaseStatements {
    /// Selects pushes of the lane `$1` and the queue `$2` that became due between the time `$4` (a
    /// `LeaseSearchMarks` mark) and the time `$3`; at most `$5` pushes.
    let above: String
    /// Selects pushes of the lane and the queue that became due before the time `$4`.
    let below: String
    /// Selects the push of the notification `$1` to the device `$2`, if it is in the lane `$3` and
    /// due at the time `$4`.
    let one: String
    /// Whether only pushes are selected whose device has its event stream at one server. The last
    /// parameter is the number of this server.
    let areOfHolder: Bool

    static let all = LeaseStatements(areOfHolder: false)
    /// The statements for the lanes of event streams.
    static let ofStreams = LeaseStatements(areOfHolder: true)

    private init(areOfHolder: Bool) {
        self.areOfHolder = areOfHolder
        // Any server may select a push that was withdrawn while it was being sent: such a push is
        // not sent, but only settled.
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
