/// A queue of pushes with a pace, a state of health and a number of calls of its own, so that no other waits for it.
///
/// Most platforms have one. A platform whose devices name their own provider, such as Web Push, has one for each.
package struct Lane: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// The platform's own lane, or the one of a part of it, such as a host.
    package init(_ platform: Platform, part: String? = nil) {
        self.description = part.map { "\(platform)/\($0)" } ?? platform.description
    }
}
