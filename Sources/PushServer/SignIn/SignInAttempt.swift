/// An attempt to sign in with a password. It contains hashes (keys) in place of the account's name
/// and the address.
struct SignInAttempt: Sendable, Hashable {
    typealias Key = SignInFailures.Key

    /// A network that contains an IPv6 address. Failures also count for networks, because a host
    /// can choose any address of its /64, and a provider's customer any /64 of a wider network.
    struct Network: Sendable, Hashable {
        enum Width: Int, Sendable, CaseIterable {
            case site = 56
            case organisation = 48

            /// The rule for the network's failures on one account.
            var pairRule: FailureCount.Rule {
                switch self {
                case .site: .sitePair
                case .organisation: .organisationPair
                }
            }

            /// The rule for the network's failures on many accounts.
            var rule: FailureCount.Rule {
                switch self {
                case .site: .site
                case .organisation: .organisation
                }
            }
        }

        let width: Width
        let address: Key
        /// The key of the account, the number of its password and the network together.
        let pair: Key
    }

    let account: Key
    let password: Key
    /// The key of the client's address; `nil` if the address is unknown.
    let address: Key?
    /// The key of the account and the address together.
    let pair: Key
    /// The key of the pair and the number of the account's password. Failures count under this
    /// key, so a new password begins without a wait.
    let counter: Key
    /// The networks that contain the address; empty for an IPv4 address, and if the address is
    /// unknown.
    let networks: [Network]
    /// Whether somebody has signed in to the account from this address before.
    var isKnown = false
    /// Whether the address has no recent failure on the account. If so, the attempt also counts
    /// for the address itself and for the networks that contain it.
    var isNew = false
    /// Whether the account has had many failures from strangers.
    var isUnderAttack = false
    /// The rank in the queue of hashes: 0 for a known address. For other addresses, the rank grows
    /// with the number of recent failures of the address.
    var rank = 0

    init(account: Key, password: Key, address: Key?, pair: Key, counter: Key, networks: [Network] = []) {
        self.account = account
        self.password = password
        self.address = address
        self.pair = pair
        self.counter = counter
        self.networks = networks
    }

    var rule: FailureCount.Rule {
        if self.address == nil { return .nowhere }
        return self.isUnderAttack && !self.isKnown ? .stranger : .pair
    }
}
