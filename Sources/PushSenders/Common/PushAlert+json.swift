internal import PushCore

extension PushAlert {
    /// The alert as JSON, for receivers that read the alert themselves: the service worker of a
    /// page, or the operator's own receiver. `nil` if the alert has no member for these receivers.
    var json: String? {
        var members = self.named.map { "\"\($0)\":\(JSONText.quoted($1))" }
        if let badge { members.append("\"badge\":\(badge)") }
        return members.isEmpty ? nil : "{\(members.joined(separator: ","))}"
    }

    /// The texts of the alert and the names of their members, always in the same order.
    var named: [(name: String, text: String)] {
        AlertMember.allCases.compactMap { member in self[member].map { (member.rawValue, $0) } }
    }
}

extension AlertPolicy {
    /// The length of the longest alert as JSON, in bytes; 0 if the policy allows no alert.
    var longestJSON: Int {
        guard !self.isEmpty else { return 0 }
        var longest = PushAlert()
        for member in AlertMember.allCases {
            longest[member] = self.values(of: member).max {
                (JSONText.quoted($0).utf8.count, $0) < (JSONText.quoted($1).utf8.count, $1)
            }
        }
        longest.badge = self.largestBadge
        return longest.json?.utf8.count ?? 0
    }

    private var isEmpty: Bool {
        self.templates.isEmpty && self.largestBadge == nil && self.allowed.values.allSatisfy(\.isEmpty)
    }
}
