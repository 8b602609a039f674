/// The tags that devices may set themselves.
///
/// Any other tag counts only if an administrator or a publisher has given it to a user.
package struct TagPolicy: Sendable, Hashable {
    /// The prefixes that devices may not use, in lower case.
    package let reserved: [String]
    /// Whether devices may set any tags themselves.
    package let isOpen: Bool

    package init(reserved: [String] = ["username:", "from:", "role:"], isOpen: Bool = true) {
        self.reserved = reserved.map { $0.lowercased() }
        self.isOpen = isOpen
    }

    /// Whether a device may set the tag itself.
    package func isOpen(_ tag: Tag) -> Bool {
        self.isOpen && !tag.isReserved && !self.reserved.contains { tag.description.hasPrefix($0) }
    }
}
