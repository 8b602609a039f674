/// A user's name, for sign-in and as a recipient.
///
/// 1 to 100 characters of `A-Z a-z 0-9 - _ @ # .`, so that `username:<name>` is a tag; compared
/// without case.
package struct Username: Sendable, Hashable, CustomStringConvertible {
    /// The name as it was first written; for comparisons, see `key`.
    package let description: String
    /// The name in lower case, for comparisons.
    package let key: String

    /// `nil` if the text is not a valid name.
    package init?(_ text: String) {
        guard (1...100).contains(text.utf8.count),
            text.utf8.allSatisfy({ Tag.isAllowed($0) && $0 != UInt8(ascii: ":") })
        else { return nil }
        self.description = text
        self.key = text.lowercased()
    }

    /// The actor at the server's own machine, under a name of its user database, as the audit
    /// names it: `local root`.
    ///
    /// No account has such a name: names of accounts have no blank.
    package static func local(_ name: String) -> Username {
        Username(unchecked: "local \(name)")
    }

    private init(unchecked text: String) {
        self.description = text
        self.key = text.lowercased()
    }

    /// Whether both names have the same bytes, which is how other systems compare names.
    package func isSpelled(like other: Username) -> Bool {
        self.description.utf8.elementsEqual(other.description.utf8)
    }

    package static func == (lhs: Username, rhs: Username) -> Bool {
        lhs.key == rhs.key
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.key)
    }
}

/// The permissions of a caller; each role includes the roles before it.
package enum Role: String, Sendable, CaseIterable, Comparable {
    /// Register its own devices, send to itself, fetch its own notifications.
    case device
    /// Also send to any user or tag.
    case publisher
    /// Also manage users and devices.
    case admin

    package static func < (lhs: Role, rhs: Role) -> Bool {
        lhs.rank < rhs.rank
    }

    private var rank: Int {
        switch self {
        case .device: 0
        case .publisher: 1
        case .admin: 2
        }
    }
}
