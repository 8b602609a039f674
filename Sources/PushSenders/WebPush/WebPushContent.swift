internal import PushCore

/// The text of a message to a browser's service worker, before encryption.
struct WebPushContent {
    /// The size without alerts, which holds the longest id several times.
    static let leastSize = 127

    /// Every message is padded to this size, so that all pushes have the same length, whether they have an alert or not.
    let paddedSize: Int

    init(_ alerts: AlertPolicy) {
        let withoutAlert = Self.text(Push.longestIDMembers, alert: "").utf8.count
        self.paddedSize = max(Self.leastSize, withoutAlert + alerts.longestJSON)
    }

    func text(of push: Push) -> [UInt8] {
        let text = Array(Self.text(push.idMembers, alert: push.alert?.json).utf8)
        // An alert that the configuration allowed earlier may be longer than all that it allows now.
        return text.count <= self.paddedSize ? text : Array(Self.text(push.idMembers, alert: nil).utf8)
    }

    private static func text(_ members: String, alert: String?) -> String {
        "{\(members)" + (alert.map { ",\"alert\":\($0)" } ?? "") + "}"
    }
}
