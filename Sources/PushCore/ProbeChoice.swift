/// The choice of the due push that best shows whether a provider accepts pushes again.
///
/// It avoids users whose devices will be refused even by a healthy provider.
package struct ProbeChoice: Sendable, Hashable {
    /// The preferred kind of address.
    package enum Address: Sendable, Hashable {
        /// An address with an accepted push before: if it is refused now, the fault is probably
        /// the server's and not the device's.
        case known
        /// An address without an accepted push: it may have been registered under the present
        /// configuration.
        case new
    }

    package let address: Address
    /// Users whose pushes are probes only if there are no others.
    package let avoidedUsers: Set<Int64>

    /// The condition that a push must meet.
    package struct Wish: Sendable, Hashable {
        /// Whether a push must have been accepted at the address before; `nil`: it does not
        /// matter.
        package let isKnown: Bool?
        /// The users whose pushes do not count.
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
