internal import PushCore

extension Push {
    /// The JSON members that identify the notification. If several accounts share the device, the
    /// members also identify the account.
    var idMembers: String {
        "\"secureId\":\"\(self.notification)\"" + (self.accountHint.map { ",\"accountHint\":\"\($0)\"" } ?? "")
    }

    /// The longest possible `idMembers`.
    static let longestIDMembers =
        "\"secureId\":\"\(Int64.max)\",\"accountHint\":\"\(String(repeating: "0", count: AccountHint.length))\""
}
