internal import PushCore

extension Push {
    /// The members of JSON that tell the device which notification it is and, where accounts share the device, whose.
    var idMembers: String {
        "\"secureId\":\"\(self.notification)\"" + (self.accountHint.map { ",\"accountHint\":\"\($0)\"" } ?? "")
    }

    /// As long as `idMembers` can become.
    static let longestIDMembers =
        "\"secureId\":\"\(Int64.max)\",\"accountHint\":\"\(String(repeating: "0", count: AccountHint.length))\""
}
