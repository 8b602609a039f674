internal import PushStore

extension DuePush {
    /// The index over the pushes of a notification, in the order of their devices.
    static let byNotification = PairIndex(first: "notification_id", second: "device")

    private static let key = KeyLookup(columns: ["notification_id", "device"])

    /// The SQL condition that a row of a table of pushes has the same key as another row.
    static func equal(_ push: String, _ row: String, device: String? = nil) -> String {
        self.key.condition(push, row, device.map { ["device": $0] } ?? [:])
    }
}
