internal import Foundation

/// Who has failed to sign in lately, and who may try: the rules of `SignInLimiter`, without its lock and its hashes.
///
/// A pair is an account and an address; an account is one that was tried, whether there is such a user or not. An
/// attempt counts as failed from its beginning, so that a thousand at once are no thousand free ones.
struct SignInFailures: Sendable {
    /// What stands for a name, an address or both.
    typealias Key = UInt64

    struct Attempt: Sendable, Hashable {
        let account: Key
        /// `nil`: from nowhere in particular.
        let address: Key?
        let pair: Key
        /// Whether the address has signed in to the account before.
        fileprivate(set) var isKnown = false
        /// Whether the account has had many failures from strangers.
        fileprivate(set) var isUnderAttack = false
        /// In what order hashes are made: 0 for whoever is known, then by what the address has failed lately.
        fileprivate(set) var rank = 0

        init(account: Key, address: Key?, pair: Key) {
            self.account = account
            self.address = address
            self.pair = pair
        }

        fileprivate var rule: FailureCount.Rule {
            if self.address == nil { return .nowhere }
            return self.isUnderAttack && !self.isKnown ? .stranger : .pair
        }
    }

    enum Verdict: Sendable, Hashable {
        case mayTry(Attempt)
        /// Seconds.
        case mustWait(TimeInterval)
    }

    /// Failures of strangers that make an attack.
    static let attack = 20
    /// Entries: of pairs, and of those who have signed in.
    private static let bound = 98_304

    private var pairs = BoundedTable<Key, FailureCount>(bound: Self.bound)
    private var accounts = BoundedTable<Key, FailureCount>(bound: Self.bound / 2)
    private var addresses = BoundedTable<Key, FailureCount>(bound: Self.bound / 2)
    /// Addresses by invalid credentials that name no account. A table of its own, since a failure here costs no hash: a
    /// flood of them must not evict the other entries.
    private var invalidCredentials = BoundedTable<Key, FailureCount>(bound: Self.bound / 2)
    /// The pairs that have signed in, for long.
    private var known = BoundedTable<Key, Bool>(bound: Self.bound)

    var count: Int {
        self.pairs.count + self.accounts.count + self.addresses.count + self.invalidCredentials.count + self.known.count
    }

    /// How an address stands to an account that it tries.
    private enum Standing {
        /// It has signed in to the account before.
        case known
        /// It has not. `isNew`: nor has it failed to lately.
        case stranger(isNew: Bool)
    }

    /// Begins an attempt that costs a hash, and counts it as failed, or says how long it must wait. A wait is not
    /// prolonged by asking.
    ///
    /// | the address is | waits for failures of | its rank | the failure counts for |
    /// |---|---|---|---|
    /// | known | the pair | 0 | the pair |
    /// | a new stranger | the pair, the address | 1, and one for each failure of either | the pair, the account, the address |
    /// | a stranger again | the pair, the address | the same | the pair, the account |
    ///
    /// An account's further failures are the pair's affair: an address is slowed for trying many accounts.
    mutating func begin(_ attempt: Attempt, now: Date) -> Verdict {
        let (pair, address) = (self.pairs[attempt.pair], attempt.address.flatMap { self.addresses[$0] })
        let failures = self.level(pair, now, .pair)
        let standing = self.known[attempt.pair] != nil ? Standing.known : .stranger(isNew: failures == 0)
        let wait = Self.wait(standing, pair: pair, address: address, now: now)
        guard wait <= 0 else { return .mustWait(wait) }

        var attempt = attempt
        attempt.isUnderAttack = self.level(self.accounts[attempt.account], now, .account) >= Self.attack
        switch standing {
        case .known: attempt.isKnown = true
        case .stranger(let isNew):
            attempt.rank = 1 + failures + self.level(address, now, .address)
            self.accounts.add(attempt.account, now, .account)
            if isNew, let key = attempt.address { self.addresses.add(key, now, .address) }
        }
        self.pairs.add(attempt.pair, now, attempt.rule)
        return .mayTry(attempt)
    }

    /// Seconds; 0 or less: none.
    private static func wait(
        _ standing: Standing,
        pair: FailureCount?,
        address: FailureCount?,
        now: Date
    ) -> TimeInterval {
        let own = pair?.remaining(at: now) ?? 0
        return switch standing {
        case .known: own
        case .stranger: max(own, address?.remaining(at: now) ?? 0)
        }
    }

    /// The password was right. What the address has failed on others stays.
    mutating func succeed(_ attempt: Attempt, now: Date) {
        if !attempt.isKnown {
            self.accounts.takeBack(attempt.account, now, .account)
            if let key = attempt.address { self.addresses.takeBack(key, now, .address) }
        }
        self.pairs[attempt.pair] = nil
        self.known[attempt.pair] = true
    }

    /// There was no time to look at the password. For the address it counts all the same: those who come again and again
    /// stand behind those who have just come.
    mutating func withdraw(_ attempt: Attempt, now: Date) {
        self.pairs.takeBack(attempt.pair, now, attempt.rule)
        if !attempt.isKnown { self.accounts.takeBack(attempt.account, now, .account) }
    }

    /// Counts invalid credentials that name no account; the seconds to wait if there were too many before.
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

    /// Without a trace where nothing else is left.
    fileprivate mutating func takeBack(_ key: Key, _ now: Date, _ rule: FailureCount.Rule) {
        guard var failures = self[key] else { return }
        failures.takeBack(at: now, rule)
        self[key] = failures.count(at: now, rule) == 0 ? nil : failures
    }
}
