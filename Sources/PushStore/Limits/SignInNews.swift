/// The outcome of a sign-in on one server, by keyed hashes that are the same on all servers.
///
/// It has no hash of a password: a fast hash would help an attacker who has the database and the
/// keyring to guess the password.
package struct SignInNews: Sendable, Hashable {
    package typealias Key = UInt64

    /// The largest number of attempts in one exchange; the others are not sent.
    package static let limit = 1024
    /// The same limit for counts of invalid credentials and of refusals.
    package static let countLimit = 256

    package enum Kind: UInt8, Sendable {
        /// An attempt began, which counts as failed from then on.
        case begun = 1
        /// The password was right. `isCounted`: the other servers have counted the attempt.
        case succeeded = 2
        /// The server did not check the attempt; the others have counted it.
        case cancelled = 3
        /// Invalid credentials from the address that name no account.
        case invalid = 4
        /// Wrong attempts of a known pair that were refused during its wait.
        case refused = 5
    }

    /// The network around an IPv6 address.
    package struct Network: Sendable, Hashable {
        /// In bits.
        package let width: UInt8
        package let address: Key
        package let pair: Key

        package init(width: UInt8, address: Key, pair: Key) {
            self.width = width
            self.address = address
            self.pair = pair
        }
    }

    package var kind: Kind
    package var account: Key = 0
    /// The account and the address.
    package var pair: Key = 0
    package var address: Key?
    package var networks: [Network] = []
    package var isKnown = false
    package var isNew = false
    package var isUnderAttack = false
    package var isCounted = false
    /// The number of occurrences, if the kind is counted.
    package var count: UInt16 = 1

    package init(_ kind: Kind) {
        self.kind = kind
    }
}
