internal import PushCore

/// The text of a message to a browser's service worker, before encryption.
struct WebPushContent {
    /// The size without alerts, which holds the longest id several times.
    static let leastSize = 127

    /// Every message is padded to this size, so that all pushes have the same length, whether they have an alert or not.
    let paddedSize: Int

    init(_ alerts: AlertPolicy) {
        let withoutAlert = Self.text(id: String(Int64.max), alert: "").utf8.count
        self.paddedSize = max(Self.leastSize, withoutAlert + alerts.longestJSON)
    }

    func text(of push: Push) -> [UInt8] {
        let id = push.notification.description
        let text = Array(Self.text(id: id, alert: push.alert?.json).utf8)
        // An alert that the configuration allowed earlier may be longer than all that it allows now.
        return text.count <= self.paddedSize ? text : Array(Self.text(id: id, alert: nil).utf8)
    }

    private static func text(id: String, alert: String?) -> String {
        "{\"secureId\":\"\(id)\"" + (alert.map { ",\"alert\":\($0)" } ?? "") + "}"
    }
}
