/// The tags that devices may give themselves.
///
/// A tag that a device may not give itself counts only where an administrator or a publisher has given it to a user.
package struct TagPolicy: Sendable, Hashable {
    /// The prefixes that devices may not use, in lower case.
    package let reserved: [String]
    /// Whether devices may give themselves tags at all.
    package let isOpen: Bool

    package init(reserved: [String] = ["username:", "from:", "role:"], isOpen: Bool = true) {
        self.reserved = reserved.map { $0.lowercased() }
        self.isOpen = isOpen
    }

    /// Whether a device may give itself the tag.
    package func isOpen(_ tag: Tag) -> Bool {
        self.isOpen && !tag.isReserved && !self.reserved.contains { tag.description.hasPrefix($0) }
    }
}
