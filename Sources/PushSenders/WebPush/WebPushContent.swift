internal import PushCore

/// The text of a message to a browser's service worker, before encryption.
struct WebPushContent {
    /// The size of messages if no alerts are allowed; it has room for several times the longest
    /// id.
    static let leastSize = 127
    /// The longest text of a message: push services accept 4096 bytes, of which the head takes 86,
    /// and the delimiter and the tag 17.
    static let greatestSize = 4096 - 86 - 17

    /// The size to which every message is padded, so that all pushes have the same length, with or
    /// without an alert.
    let paddedSize: Int
    private let placeholder: WebPushPlaceholder?

    init(_ alerts: AlertPolicy, placeholder: WebPushPlaceholder? = nil) {
        self.placeholder = placeholder
        let longest = Self.text(placeholder, id: "\(Int64.max)", Push.longestIDMembers, alert: "").utf8.count
        // A message with a placeholder contains the alert's members twice.
        self.paddedSize = max(Self.leastSize, longest + alerts.longestJSON * (placeholder == nil ? 1 : 2))
    }

    func text(of push: Push) -> [UInt8] {
        let text = self.text(of: push, alert: push.alert?.json)
        // The text may be too long: an alert that an earlier configuration allowed may be longer
        // than all that are allowed now. Then the message has no alert.
        return text.count <= self.paddedSize ? text : self.text(of: push, alert: nil)
    }

    private func text(of push: Push, alert: String?) -> [UInt8] {
        Array(Self.text(self.placeholder, id: "\(push.notification)", push.idMembers, alert: alert).utf8)
    }

    private static func text(
        _ placeholder: WebPushPlaceholder?,
        id: String,
        _ idMembers: String,
        alert: String?
    ) -> String {
        let members = idMembers + (alert.map { ",\"alert\":\($0)" } ?? "")
        return placeholder?.message(id: id, members: members) ?? "{\(members)}"
    }
}
