internal import PushStore

extension DuePush {
    /// The pushes of a notification, in the order of their devices.
    static let byNotification = PairIndex(first: "notification_id", second: "device")

    /// The condition that a row of a table of pushes has the key of another row, which is looked up by an index whatever the planner
    /// believes.
    ///
    /// An outbox that is empty when it is vacuumed counts as empty until the next time, however many pushes come in. A join by
    /// plain equality then reads all of its index for each batch. A comparison with an array leaves the planner no other way
    /// than to look up each key.
    static func equal(_ push: String, _ row: String, device: String? = nil) -> String {
        """
        \(push).notification_id = any(array[\(row).notification_id]) \
        and \(push).device = any(array[\(device ?? "\(row).device")])
        """
    }
}
