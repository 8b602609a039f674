/// The name under which someone signs in and is sent to.
///
/// 1 to 100 characters of `A-Z a-z 0-9 - _ @ # .`, so that `username:<name>` is a tag; compared without case.
package struct Username: Sendable, Hashable, CustomStringConvertible {
    /// As it was written at first; for comparing, see `key`.
    package let description: String
    /// In lower case: what names are compared by.
    package let key: String

    /// `nil` if it is no name.
    package init?(_ text: String) {
        guard (1...100).contains(text.utf8.count),
            text.utf8.allSatisfy({ Tag.isAllowed($0) && $0 != UInt8(ascii: ":") })
        else { return nil }
        self.description = text
        self.key = text.lowercased()
    }

    package static func == (lhs: Username, rhs: Username) -> Bool {
        lhs.key == rhs.key
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.key)
    }
}

/// What a caller may do; each role may do what those before it may.
package enum Role: String, Sendable, CaseIterable, Comparable {
    /// Register its own devices, send to itself, collect its own notifications.
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
