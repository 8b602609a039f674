internal import Foundation

/// The recent failed sign-ins, and the rules for the next attempts: `SignInLimiter` without its
/// lock and its hashes.
///
/// A pair is an account and an address; an account is a name that was tried, whether such a user
/// exists or not. An attempt counts as failed from its beginning, so that a thousand concurrent
/// attempts are not a thousand free ones.
struct SignInFailures: Sendable {
    /// The hash of a name, an address, a password or several of them.
    typealias Key = UInt64

    enum Verdict: Sendable, Hashable {
        case mayTry(SignInAttempt)
        /// `isGuessing`: so many attempts were refused that even the right password no longer
        /// passes.
        case mustWait(TimeInterval, isGuessing: Bool = false)
    }

    /// The number of strangers' failures that count as an attack on the account.
    static let attack = 20
    /// The largest number of entries in a table; the smaller tables have a fraction of it.
    private static let limit = 98_304

    private var pairs = BoundedTable<Key, FailureCount>(limit: Self.limit)
    private var accounts = BoundedTable<Key, FailureCount>(limit: Self.limit / 2)
    private var addresses = BoundedTable<Key, FailureCount>(limit: Self.limit / 2)
    /// The pairs and the addresses of the networks around IPv6 addresses. They have their own
    /// tables, so that an attacker with many addresses does not evict other clients' failures.
    private var widePairs = BoundedTable<Key, FailureCount>(limit: Self.limit / 2)
    private var wideAddresses = BoundedTable<Key, FailureCount>(limit: Self.limit / 2)
    /// Invalid credentials that name no account, by address. They have their own table, because
    /// such a failure costs no hash: a flood of them must not evict the other entries.
    private var invalidCredentials = BoundedTable<Key, FailureCount>(limit: Self.limit / 2)
    /// The pairs that have signed in, with the password that was right.
    private var known = BoundedTable<Key, Key>(limit: Self.limit)
    /// The attempts of known pairs that were refused during a wait.
    private var refused = BoundedTable<Key, FailureCount>(limit: Self.limit / 8)

    var count: Int {
        self.pairs.count + self.accounts.count + self.addresses.count + self.widePairs.count + self.wideAddresses.count
            + self.invalidCredentials.count + self.known.count + self.refused.count
    }

    /// The relation of an address to an account that it tries.
    private enum Standing {
        /// The address has signed in to the account before. `isRight`: the password is the same as
        /// then.
        case known(isRight: Bool)
        /// The address has not signed in to it. `isNew`: it has no recent failure on the account
        /// either.
        case stranger(isNew: Bool)
    }

    /// Begins an attempt that costs a hash, and counts it as failed, or returns how long it must
    /// wait. A refused attempt does not prolong the wait.
    ///
    /// - A known address with the right password has no wait, except as below.
    /// - A known address with another password waits for failures of the pair. An attempt of a
    ///   known address has rank 0, and its failure counts for the pair.
    /// - A new stranger waits for failures of the pair, the address and both networks around it.
    ///   Its rank is 1 plus the failures of pair and address. A failure counts for the pair, the
    ///   account, the address and both networks.
    /// - A stranger that tries again has the same waits and rank. A failure counts for the pair,
    ///   the account and the pairs of the networks.
    ///
    /// Only the first failure on an account counts for the address, so that it is throttled for
    /// trying many accounts.
    ///
    /// The owner of an account may share an address with others, in an office or behind a
    /// provider's NAT. Their wrong attempts make the pair wait, except with the password that was
    /// right there before. So a refused attempt tells its sender that the password is wrong. Only
    /// a few hundred such attempts a day are free: beyond that, the right password waits, too.
    mutating func begin(_ attempt: SignInAttempt, now: Date) -> Verdict {
        let failures = self.level(self.pairs[attempt.pair], now, .pair)
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

    /// Counts an attempt as failed.
    private mutating func count(_ attempt: SignInAttempt, now: Date) {
        if !attempt.isKnown {
            self.accounts.add(attempt.account, now, .account)
            for network in attempt.networks { self.widePairs.add(network.pair, now, network.width.pairRule) }
            if attempt.isNew {
                if let key = attempt.address { self.addresses.add(key, now, .address) }
                for network in attempt.networks { self.wideAddresses.add(network.address, now, network.width.rule) }
            }
        }
        self.pairs.add(attempt.pair, now, attempt.rule)
    }

    private func standing(of attempt: SignInAttempt, failures: Int) -> Standing {
        self.known[attempt.pair].map { .known(isRight: $0 == attempt.password) } ?? .stranger(isNew: failures == 0)
    }

    /// The wait in seconds; 0 or less means none.
    private func wait(of attempt: SignInAttempt, _ standing: Standing, now: Date) -> TimeInterval {
        let own = self.pairs[attempt.pair]?.remaining(at: now) ?? 0
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
        if case .known(isRight: false) = standing { self.refused.add(attempt.pair, now, .refused) }
        return .mustWait(wait, isGuessing: self.isGuessed(attempt, now))
    }

    private func isGuessed(_ attempt: SignInAttempt, _ now: Date) -> Bool {
        (self.refused[attempt.pair]?.remaining(at: now) ?? 0) > 0
    }

    /// Ends an attempt whose password was right. The address's failures on other accounts stay.
    mutating func succeed(_ attempt: SignInAttempt, now: Date) {
        if !attempt.isKnown { self.takeBackStranger(attempt, now: now) }
        self.pairs[attempt.pair] = nil
        self.known[attempt.pair] = attempt.password
    }

    private mutating func takeBackStranger(_ attempt: SignInAttempt, now: Date) {
        self.accounts.takeBack(attempt.account, now, .account)
        if let key = attempt.address { self.addresses.takeBack(key, now, .address) }
        self.takeBackNetworks(of: attempt, now)
    }

    /// Ends an attempt whose password was not checked for lack of time. It still counts for the
    /// address: repeated attempts rank behind those of newcomers.
    mutating func cancel(_ attempt: SignInAttempt, now: Date) {
        self.pairs.takeBack(attempt.pair, now, attempt.rule)
        guard !attempt.isKnown else { return }
        self.accounts.takeBack(attempt.account, now, .account)
        // The attempt does not count for the networks: after a restart all phones of a carrier
        // sign in at once, and there is no time for most of them.
        self.takeBackNetworks(of: attempt, now)
    }

    private mutating func takeBackNetworks(of attempt: SignInAttempt, _ now: Date) {
        for network in attempt.networks {
            self.widePairs.takeBack(network.pair, now, network.width.pairRule)
            if attempt.isNew { self.wideAddresses.takeBack(network.address, now, network.width.rule) }
        }
    }

    /// Counts invalid credentials that name no account; returns the seconds to wait if there were
    /// too many before.
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

    /// Removes one failure, and deletes the entry if no other is left.
    fileprivate mutating func takeBack(_ key: Key, _ now: Date, _ rule: FailureCount.Rule) {
        guard var failures = self[key] else { return }
        failures.takeBack(at: now, rule)
        self[key] = failures.count(at: now, rule) == 0 ? nil : failures
    }
}
