/// Which of the pushes that are due shows best whether a provider takes pushes again.
///
/// The choice keeps probes from users whose devices will be refused however well the provider is.
package struct ProbeChoice: Sendable, Hashable {
    /// What is preferred.
    package enum Address: Sendable, Hashable {
        /// One at which a push was accepted before: a refusal says more about us than about the device.
        case known
        /// One at which none was: it may have been registered under the set-up that we have now.
        case new
    }

    package let address: Address
    /// Users whose pushes go only if there are no others.
    package let avoidedUsers: Set<Int64>

    package init(_ address: Address, avoiding users: Set<Int64>) {
        self.address = address
        self.avoidedUsers = users
    }
}
