/// The choice of the due push that best shows whether a provider accepts pushes again.
///
/// It avoids users whose devices will be refused even by a healthy provider.
package struct ProbeChoice: Sendable, Hashable {
    /// The preferred kind of address.
    package enum Address: Sendable, Hashable {
        /// An address with an accepted push before: a refusal says more about the server than
        /// about the device.
        case known
        /// An address without an accepted push: it may have been registered under the present
        /// configuration.
        case new
    }

    package let address: Address
    /// Users whose pushes are probes only if there are no others.
    package let avoidedUsers: Set<Int64>

    package init(_ address: Address, avoiding users: Set<Int64>) {
        self.address = address
        self.avoidedUsers = users
    }
}
