/// An attempt to sign in with a password, by keys that stand for its parts.
struct SignInAttempt: Sendable, Hashable {
    typealias Key = SignInFailures.Key

    /// A network around an IPv6 address. A host chooses any address of its /64, and a customer any /64 of a wider network.
    struct Network: Sendable, Hashable {
        enum Width: Int, Sendable, CaseIterable {
            case site = 56
            case organisation = 48

            /// What the network's failures on one account count by.
            var pairRule: FailureCount.Rule {
                switch self {
                case .site: .sitePair
                case .organisation: .organisationPair
                }
            }

            /// What the network's failures on many accounts count by.
            var rule: FailureCount.Rule {
                switch self {
                case .site: .site
                case .organisation: .organisation
                }
            }
        }

        let width: Width
        let address: Key
        /// The account and the network.
        let pair: Key
    }

    let account: Key
    let password: Key
    /// `nil`: from nowhere in particular.
    let address: Key?
    /// The account and the address.
    let pair: Key
    /// Empty for an IPv4 address, and without an address.
    let networks: [Network]
    /// Whether the address has signed in to the account before.
    var isKnown = false
    /// Whether the address has not failed on the account of late, so that the attempt counts for its networks.
    var isNew = false
    /// Whether the account has had many failures from strangers.
    var isUnderAttack = false
    /// Whether the address has failed on the account of late.
    var hasFailed = false
    /// Tells it from other attempts while the other servers must be told of it; 0: they are not.
    var number: UInt64 = 0
    /// In what order hashes are made: 0 for a known address, then by what the address has failed lately.
    var rank = 0

    init(account: Key, password: Key, address: Key?, pair: Key, networks: [Network] = []) {
        self.account = account
        self.password = password
        self.address = address
        self.pair = pair
        self.networks = networks
    }

    var rule: FailureCount.Rule {
        if self.address == nil { return .nowhere }
        return self.isUnderAttack && !self.isKnown ? .stranger : .pair
    }
}
