/// An attempt to sign in with a password. Its parts are keys, which are hashes of the texts.
struct SignInAttempt: Sendable, Hashable {
    typealias Key = SignInFailures.Key

    /// A network around an IPv6 address. A host chooses any address of its /64, and a customer any
    /// /64 of a wider network.
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
        /// The account and the network.
        let pair: Key
    }

    let account: Key
    let password: Key
    /// `nil`: the address is unknown.
    let address: Key?
    /// The account and the address.
    let pair: Key
    /// Empty for an IPv4 address, and without an address.
    let networks: [Network]
    /// Whether the address has signed in to the account before.
    var isKnown = false
    /// Whether the address has no recent failure on the account, so that the attempt counts for
    /// its networks.
    var isNew = false
    /// Whether the account has had many failures from strangers.
    var isUnderAttack = false
    /// The rank in the queue of hashes: 0 for a known address; for others it grows with the recent
    /// failures of the address.
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
