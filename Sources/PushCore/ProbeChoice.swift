/// Chooses, among the due pushes, the one that best shows whether a provider accepts pushes again.
///
/// The choice avoids users whose devices even a healthy provider would refuse.
package struct ProbeChoice: Sendable, Hashable {
    /// The preferred kind of address.
    package enum Address: Sendable, Hashable {
        /// An address that has got an accepted push before: if the provider refuses a push to this
        /// address now, the fault is probably the server's and not the device's.
        case known
        /// An address that has got no accepted push yet. After a change of the server, such as
        /// another VAPID key, the provider may accept only addresses that were registered since.
        case new
    }

    package let address: Address
    /// The users whose pushes are chosen only if no other user has a due push.
    package let avoidedUsers: Set<Int64>

    /// The condition that a push must meet.
    package struct Wish: Sendable, Hashable {
        /// Whether the provider must have accepted a push to the address before; `nil` if that
        /// does not matter.
        package let isKnown: Bool?
        /// The users whose pushes do not meet the condition.
        package let avoided: Set<Int64>
    }

    /// The conditions, in the order in which a search tries them.
    package var wishes: [Wish] {
        [
            Wish(isKnown: self.address == .known, avoided: self.avoidedUsers),
            Wish(isKnown: nil, avoided: self.avoidedUsers),
            Wish(isKnown: nil, avoided: []),
        ]
    }

    package init(_ address: Address, avoiding users: Set<Int64>) {
        self.address = address
        self.avoidedUsers = users
    }
}
