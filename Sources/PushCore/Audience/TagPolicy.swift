/// The tags that devices may give themselves.
///
/// Users get all other tags from administrators and publishers.
package struct TagPolicy: Sendable, Hashable {
    /// The prefixes of tags that devices may not give themselves, in lower case.
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
