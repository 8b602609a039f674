internal import Foundation

/// The recent failed sign-ins, and the rules for the next attempts. `SignInLimiter` adds a lock
/// and computes the hashes.
///
/// A pair is an account and an address. An account is a name that was tried, whether a user of
/// this name exists or not. The failures of a pair end when the account gets a new password. An
/// attempt counts as failed from its beginning: otherwise a thousand concurrent attempts could
/// begin before the first one has failed.
struct SignInFailures: Sendable {
    /// The hash of a name, an address, a password or several of them.
    typealias Key = UInt64

    enum Verdict: Sendable, Hashable {
        case mayTry(SignInAttempt)
        /// The attempt is refused, and its sender must wait for this number of seconds.
        /// `isGuessing` says that so many attempts were refused that even the right password is
        /// refused.
        case mustWait(TimeInterval, isGuessing: Bool = false)
    }

    /// The number of strangers' failures that count as an attack on the account.
    static let attack = 20
    /// The largest number of entries in a table; the smaller tables have a fraction of it.
    private static let limit = 98_304

    private var pairs = BoundedTable<Key, FailureCount>(limit: Self.limit)
    private var accounts = BoundedTable<Key, FailureCount>(limit: Self.limit / 2)
    private var addresses = BoundedTable<Key, FailureCount>(limit: Self.limit / 2)
    /// The failures of IPv6 networks: `widePairs` has a count for each pair of an account and a
    /// network, and `wideAddresses` for each network. They have tables of their own, so that an
    /// attacker with many addresses cannot evict the failures of other clients.
    private var widePairs = BoundedTable<Key, FailureCount>(limit: Self.limit / 2)
    private var wideAddresses = BoundedTable<Key, FailureCount>(limit: Self.limit / 2)
    /// For each address, its failures with invalid credentials that name no account. They have a
    /// table of their own, because such a failure costs no hash: a flood of such failures must not
    /// evict the other entries.
    private var invalidCredentials = BoundedTable<Key, FailureCount>(limit: Self.limit / 2)
    /// The pairs of an account and an address that have signed in, each with the key of the
    /// password that was right.
    private var known = BoundedTable<Key, Key>(limit: Self.limit)
    /// The number of attempts of each known pair that were refused during a wait.
    private var refused = BoundedTable<Key, FailureCount>(limit: Self.limit / 8)

    var count: Int {
        self.pairs.count + self.accounts.count + self.addresses.count + self.widePairs.count + self.wideAddresses.count
            + self.invalidCredentials.count + self.known.count + self.refused.count
    }

    /// The relation of an address to an account that it tries.
    private enum Standing {
        /// The address has signed in to the account before. `isRight` says whether the password is
        /// the one that was right then.
        case known(isRight: Bool)
        /// The address has not signed in to the account. `isNew` says whether the address has no
        /// recent failure on the account either.
        case stranger(isNew: Bool)
    }

    /// Begins an attempt to sign in, which costs a hash, and counts it as failed; or returns how
    /// long its sender must wait. A refused attempt does not prolong the wait.
    ///
    /// - A known address (which has signed in to the account before) with the right password has
    ///   no wait, except as described below.
    /// - A known address with another password waits if the pair has failures. An attempt of a
    ///   known address has rank 0 in the queue of hashes, and its failure counts for the pair.
    /// - A stranger (an address that has not signed in to the account) that tries the account for
    ///   the first time waits if the pair, the address or one of the two networks around the
    ///   address has failures. The rank of the attempt is 1 plus the failures of pair and address.
    ///   A failure counts for the pair, the account, the address and both networks.
    /// - A stranger that tries again has the same waits and the same rank. A failure counts for
    ///   the pair, the account, and the pairs of the account and each network.
    ///
    /// Only the first failure on an account counts for the address: the address is throttled for
    /// trying many accounts.
    ///
    /// The owner of an account may share an address with other people, in an office or behind a
    /// provider's NAT. After wrong attempts of these people, the pair must wait, except with the
    /// password that was right at this address before. So a refused attempt reveals to its sender
    /// that the password is wrong. Only a few hundred such attempts a day are free; after that,
    /// the right password waits, too.
    mutating func begin(_ attempt: SignInAttempt, now: Date) -> Verdict {
        let failures = self.level(self.pairs[attempt.counter], now, .pair)
        let standing = self.standing(of: attempt, failures: failures)
        let wait = self.wait(of: attempt, standing, now: now)
        guard wait <= 0 else { return self.refuse(attempt, standing, wait, now: now) }

        var attempt = attempt
        attempt.isUnderAttack = self.level(self.accounts[attempt.account], now, .account) >= Self.attack
        switch standing {
        case .known: attempt.isKnown = true
        case .stranger(let isNew):
            attempt.rank = 1 + failures + self.level(attempt.address.flatMap { self.addresses[$0] }, now, .address)
            attempt.isNew = isNew
        }
        self.count(attempt, now: now)
        return .mayTry(attempt)
    }

    /// Counts an attempt as failed, as `begin` describes.
    private mutating func count(_ attempt: SignInAttempt, now: Date) {
        if !attempt.isKnown {
            self.accounts.add(attempt.account, now, .account)
            for network in attempt.networks { self.widePairs.add(network.pair, now, network.width.pairRule) }
            if attempt.isNew {
                if let key = attempt.address { self.addresses.add(key, now, .address) }
                for network in attempt.networks { self.wideAddresses.add(network.address, now, network.width.rule) }
            }
        }
        self.pairs.add(attempt.counter, now, attempt.rule)
    }

    private func standing(of attempt: SignInAttempt, failures: Int) -> Standing {
        self.known[attempt.pair].map { .known(isRight: $0 == attempt.password) } ?? .stranger(isNew: failures == 0)
    }

    /// How many seconds the attempt's sender must wait; 0 or less means that there is no wait.
    private func wait(of attempt: SignInAttempt, _ standing: Standing, now: Date) -> TimeInterval {
        let own = self.pairs[attempt.counter]?.remaining(at: now) ?? 0
        switch standing {
        case .known(isRight: true): return self.isGuessed(attempt, now) ? own : 0
        case .known(isRight: false): return own
        case .stranger:
            let address = attempt.address.flatMap { self.addresses[$0]?.remaining(at: now) } ?? 0
            return attempt.networks.reduce(max(own, address)) { wait, network in
                max(
                    wait,
                    self.widePairs[network.pair]?.remaining(at: now) ?? 0,
                    self.wideAddresses[network.address]?.remaining(at: now) ?? 0
                )
            }
        }
    }

    private mutating func refuse(
        _ attempt: SignInAttempt,
        _ standing: Standing,
        _ wait: TimeInterval,
        now: Date
    ) -> Verdict {
        if case .known(isRight: false) = standing { self.refused.add(attempt.counter, now, .refused) }
        return .mustWait(wait, isGuessing: self.isGuessed(attempt, now))
    }

    private func isGuessed(_ attempt: SignInAttempt, _ now: Date) -> Bool {
        (self.refused[attempt.counter]?.remaining(at: now) ?? 0) > 0
    }

    /// Ends an attempt whose password was right. The failures of the address on other accounts
    /// stay counted.
    mutating func succeed(_ attempt: SignInAttempt, now: Date) {
        if !attempt.isKnown { self.takeBackStranger(attempt, now: now) }
        self.pairs[attempt.counter] = nil
        self.known[attempt.pair] = attempt.password
    }

    private mutating func takeBackStranger(_ attempt: SignInAttempt, now: Date) {
        self.accounts.takeBack(attempt.account, now, .account)
        if let key = attempt.address { self.addresses.takeBack(key, now, .address) }
        self.takeBackNetworks(of: attempt, now)
    }

    /// Ends an attempt whose password the server had no time to check. The attempt still counts
    /// for the address: so repeated attempts go behind those of newcomers in the queue of hashes.
    mutating func cancel(_ attempt: SignInAttempt, now: Date) {
        self.pairs.takeBack(attempt.counter, now, attempt.rule)
        guard !attempt.isKnown else { return }
        self.accounts.takeBack(attempt.account, now, .account)
        // An attempt that the server had no time to check does not count against its networks.
        // Otherwise all phones of a carrier, which sign in together after a restart, would have to
        // wait.
        self.takeBackNetworks(of: attempt, now)
    }

    private mutating func takeBackNetworks(of attempt: SignInAttempt, _ now: Date) {
        for network in attempt.networks {
            self.widePairs.takeBack(network.pair, now, network.width.pairRule)
            if attempt.isNew { self.wideAddresses.takeBack(network.address, now, network.width.rule) }
        }
    }

    /// Counts invalid credentials that name no account. If the address has sent too many before,
    /// returns instead how many seconds it must wait.
    mutating func countInvalidCredentials(of address: Key, now: Date) -> TimeInterval? {
        if let wait = self.invalidCredentials[address]?.remaining(at: now), wait > 0 { return wait }
        self.invalidCredentials.add(address, now, .credentials)
        return nil
    }

    private func level(_ failures: FailureCount?, _ now: Date, _ rule: FailureCount.Rule) -> Int {
        failures?.count(at: now, rule) ?? 0
    }
}

extension BoundedTable<SignInFailures.Key, FailureCount> {
    fileprivate mutating func add(_ key: Key, _ now: Date, _ rule: FailureCount.Rule) {
        var failures = self[key] ?? FailureCount(now: now)
        failures.add(at: now, rule)
        self[key] = failures
    }

    /// Removes one failure of an entry, and deletes the entry if no failure is left.
    fileprivate mutating func takeBack(_ key: Key, _ now: Date, _ rule: FailureCount.Rule) {
        guard var failures = self[key] else { return }
        failures.takeBack(at: now, rule)
        self[key] = failures.count(at: now, rule) == 0 ? nil : failures
    }
}
