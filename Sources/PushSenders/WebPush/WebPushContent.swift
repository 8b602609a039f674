internal import PushCore

/// The text of a message to a browser's service worker, before encryption.
struct WebPushContent {
    /// The size without alerts, which has room for several times the longest id.
    static let leastSize = 127

    /// The size to which every message is padded, so that all pushes have the same length, with or
    /// without an alert.
    let paddedSize: Int

    init(_ alerts: AlertPolicy) {
        let withoutAlert = Self.text(Push.longestIDMembers, alert: "").utf8.count
        self.paddedSize = max(Self.leastSize, withoutAlert + alerts.longestJSON)
    }

    func text(of push: Push) -> [UInt8] {
        let text = Array(Self.text(push.idMembers, alert: push.alert?.json).utf8)
        // An alert that an earlier configuration allowed may be longer than all current ones.
        return text.count <= self.paddedSize ? text : Array(Self.text(push.idMembers, alert: nil).utf8)
    }

    private static func text(_ members: String, alert: String?) -> String {
        "{\(members)" + (alert.map { ",\"alert\":\($0)" } ?? "") + "}"
    }
}
