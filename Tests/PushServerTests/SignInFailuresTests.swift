import Foundation
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct SignInFailuresTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private var failures = SignInFailures()
    private var now = Self.start

    /// Makes an attempt. `password` is 0 for a wrong password.
    private static func attempt(_ account: UInt64, _ address: UInt64?, password: UInt64 = 0) -> SignInAttempt {
        let pair = account << 32 | (address ?? 0xFFFF_FFFF)
        return .init(account: account, password: password, address: address, pair: pair, counter: pair)
    }

    /// Attempts to sign in with a wrong password. Returns the seconds to wait, or `nil` if the
    /// limiter admitted the attempt.
    private mutating func fail(_ account: UInt64, _ address: UInt64?) -> TimeInterval? {
        switch self.failures.begin(Self.attempt(account, address), now: self.now) {
        case .mayTry: nil
        case .mustWait(let seconds, _): seconds
        }
    }

    /// Attempts to sign in with the right password. Returns the seconds to wait, or `nil` if the
    /// limiter admitted the attempt.
    private mutating func signIn(_ account: UInt64, _ address: UInt64?) -> TimeInterval? {
        switch self.failures.begin(Self.attempt(account, address, password: 1), now: self.now) {
        case .mayTry(let attempt):
            self.failures.succeed(attempt, now: self.now)
            return nil
        case .mustWait(let seconds, _): return seconds
        }
    }

    /// Tries wrong passwords until the limiter refuses an attempt. Returns the number of admitted
    /// attempts.
    private mutating func freeTries(_ account: UInt64, _ address: UInt64?) -> Int {
        var count = 0
        while count < 1000, self.fail(account, address) == nil { count += 1 }
        return count
    }

    /// Makes failed attempts on the account from so many unknown addresses that the limiter takes
    /// them for an attack.
    private mutating func attack(_ account: UInt64) {
        for address in 0..<UInt64(SignInFailures.attack) { #expect(self.fail(account, 1000 + address) == nil) }
    }

    @Test mutating func theDelayDoublesAfterSixTriesUpTo15Minutes() {
        #expect(self.freeTries(1, 1) == 6)
        for wait in [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            let told = self.fail(1, 1)
            // The delay doubles after each failure. If an old failure has expired meanwhile, the
            // delay stays the same.
            #expect(told == wait || told == wait / 2, "\(told ?? 0) for \(wait)")
            self.now += told ?? 0
            #expect(self.fail(1, 1) == nil, "after the wait there is a try")
        }
    }

    @Test mutating func refusedAttemptsDoNotProlongTheDelay() {
        _ = self.freeTries(1, 1)
        self.now += 0.5
        for _ in 0..<1000 { #expect(self.fail(1, 1) == 0.5) }
        self.now += 0.5
        #expect(self.signIn(1, 1) == nil)
    }

    @Test mutating func aGuesserDelaysOnlyItself() {
        _ = self.freeTries(1, 1)
        #expect(self.freeTries(1, 2) == 6, "the account from elsewhere")
        #expect(self.freeTries(2, 1) == 6, "another account")
    }

    @Test mutating func aSuccessClearsTheFailuresOfUserAndAddress() {
        for _ in 0..<5 { #expect(self.fail(1, 1) == nil) }
        #expect(self.signIn(1, 1) == nil)
        #expect(self.freeTries(1, 1) == 6)
    }

    @Test mutating func aThousandConcurrentAttemptsGetSixTries() {
        let verdicts = (0..<1000).map { _ in self.failures.begin(Self.attempt(1, 1), now: self.now) }
        let tried = verdicts.count { if case .mayTry = $0 { true } else { false } }
        #expect(tried == 6)
    }

    // MARK: From many addresses

    @Test mutating func anAttackLimitsStrangersToOneTryAndSparesKnownAddresses() {
        #expect(self.signIn(1, 7) == nil)
        self.attack(1)
        #expect(self.fail(1, 8) == nil)
        #expect(self.fail(1, 8) == 60)
        #expect(self.signIn(1, 9) == nil, "the owner from anywhere")
        #expect(self.freeTries(1, 9) == 6, "where it has signed in now")
        #expect(self.freeTries(1, 7) == 6, "where it has signed in before")
        #expect(self.freeTries(2, 8) == 6, "another account")
    }

    @Test mutating func anAttackEndsByItself() {
        self.attack(1)
        self.now += 3600
        #expect(self.freeTries(1, 8) == 6)
    }

    @Test mutating func theOwnersOwnFailuresAreNotAnAttack() {
        #expect(self.signIn(1, 7) == nil)
        for _ in 0..<50 {
            _ = self.fail(1, 7)
            self.now += 900
        }
        #expect(self.freeTries(1, 8) == 6)
    }

    @Test mutating func aDailyAttemptIsNeverRefused() {
        for day in 0..<20 {
            for address in 0..<100 { _ = self.fail(1, UInt64(1000 + day * 100 + address)) }
            #expect(self.signIn(1, UInt64(day)) == nil)
            self.now += 86_400
        }
    }

    // MARK: Neighbours

    @Test mutating func aNeighbourDoesNotLockOutTheRightPassword() {
        #expect(self.signIn(1, 7) == nil)
        var refused = 0
        for _ in 0..<9 where self.fail(1, 7) != nil { refused += 1 }
        #expect(refused == 3)
        for _ in 0..<50 { #expect(self.signIn(1, 7) == nil) }
    }

    @Test mutating func aNeighbourLearnsNothingAfterAHundredPasswords() {
        #expect(self.signIn(1, 7) == nil)
        #expect(self.freeTries(1, 7) == 6)
        for number in 0..<101 { #expect(self.fail(1, 7) != nil, "\(number)") }
        let verdict = self.failures.begin(Self.attempt(1, 7, password: 1), now: self.now)
        #expect(verdict == .mustWait(1, isGuessing: true))
        #expect(self.signIn(1, 8) == nil, "the owner from elsewhere")
        self.now += 900
        #expect(self.signIn(1, 7) == nil)
    }

    @Test mutating func anotherPasswordThatWasRightOnceIsNotTheRightOne() {
        #expect(self.signIn(1, 7) == nil)
        guard case .mayTry(let attempt) = self.failures.begin(Self.attempt(1, 7, password: 2), now: self.now) else {
            Issue.record("refused")
            return
        }
        self.failures.succeed(attempt, now: self.now)
        #expect(self.freeTries(1, 7) == 6)
        #expect(self.signIn(1, 7) == 1, "the old one")
        let verdict = self.failures.begin(Self.attempt(1, 7, password: 2), now: self.now)
        guard case .mayTry = verdict else {
            Issue.record("\(verdict)")
            return
        }
    }

    // MARK: Networks

    /// Makes an attempt from the /64 network with this number. 256 such networks form a site, and
    /// 65,536 form an organisation.
    private static func attempt(_ account: UInt64, subnet: UInt64) -> SignInAttempt {
        let (site, organisation) = (subnet / 256, subnet / 65_536)
        return .init(
            account: account,
            password: 0,
            address: subnet,
            pair: account << 32 | subnet,
            counter: account << 32 | subnet,
            networks: [
                .init(width: .site, address: 1 << 40 | site, pair: account << 48 | 1 << 40 | site),
                .init(
                    width: .organisation,
                    address: 2 << 40 | organisation,
                    pair: account << 48 | 2 << 40 | organisation
                ),
            ]
        )
    }

    /// Makes up to ten thousand attempts from subnets whose numbers are `stride` apart. Returns
    /// the number of attempts before the first refusal.
    private mutating func freeTries(stride: UInt64, account: (UInt64) -> UInt64) -> Int {
        for number in 0..<10_000 as Range<UInt64> {
            let attempt = Self.attempt(account(number), subnet: number * stride)
            if case .mustWait = self.failures.begin(attempt, now: self.now) { return Int(number) }
        }
        return 10_000
    }

    @Test(
        arguments: [
            (1, true, 11), (256, true, 21), (65_536, true, 10_000), (1, false, 61), (128, false, 301),
            (65_536, false, 10_000),
        ] as [(UInt64, Bool, Int)]
    )
    mutating func manySubnetsOfOneNetworkCountTogether(stride: UInt64, isOneAccount: Bool, expected: Int) {
        #expect(self.freeTries(stride: stride) { isOneAccount ? 1 : 1000 + $0 } == expected)
    }

    @Test mutating func attemptsRefusedAsBusyDoNotThrottleANetwork() {
        for number in 0..<1000 as Range<UInt64> {
            let attempt = Self.attempt(1000 + number, subnet: number)
            guard case .mayTry(let begun) = self.failures.begin(attempt, now: self.now) else {
                Issue.record("refused: \(number)")
                return
            }
            self.failures.cancel(begun, now: self.now)
        }
    }

    @Test mutating func aKnownSubnetIsNotThrottledWithItsNetwork() {
        guard case .mayTry(let attempt) = self.failures.begin(Self.attempt(1, subnet: 9), now: self.now) else {
            Issue.record("refused")
            return
        }
        self.failures.succeed(attempt, now: self.now)
        #expect(self.freeTries(stride: 1) { _ in 1 } == 12, "one of which is from the known subnet")
        guard case .mayTry = self.failures.begin(Self.attempt(1, subnet: 9), now: self.now) else {
            Issue.record("refused")
            return
        }
    }

    // MARK: Many accounts

    @Test mutating func anAddressThatTriesManyUsersIsThrottledForUnknownOnes() {
        #expect(self.signIn(1, 7) == nil)
        var tried = 0
        while tried < 1000, self.fail(UInt64(100 + tried), 7) == nil { tried += 1 }
        #expect(tried == 21)
        #expect(self.fail(99, 7) == 1, "one it has not tried")
        #expect(self.freeTries(1, 7) == 6, "one that it knows")
        #expect(self.fail(99, 8) == nil, "from elsewhere")
    }

    @Test mutating func aSuccessDoesNotClearFailuresForOtherUsers() {
        for account in 0..<20 {
            #expect(self.fail(UInt64(100 + account), 7) == nil)
            #expect(self.signIn(1, 7) == nil)
        }
        #expect(self.fail(200, 7) == nil)
        #expect(self.fail(201, 7) == 1)
    }

    @Test mutating func aThousandUsersOfOneAddressSignIn() {
        for account in 0..<1000 { #expect(self.signIn(UInt64(account), 7) == nil) }
    }

    // MARK: Without an address

    @Test mutating func attemptsWithoutAnAddressAreDelayedAtMostAMinute() {
        #expect(self.freeTries(1, nil) == 6)
        for _ in 0..<100 { self.now += self.fail(1, nil) ?? 0 }
        let wait = self.fail(1, nil) ?? 0
        #expect((1...60).contains(wait))
        for account in UInt64(2)..<1000 { #expect(self.signIn(UInt64(account), nil) == nil) }
    }

    // MARK: Other credentials than passwords

    @Test mutating func credentialsWithoutANameAreCountedSeparately() {
        for _ in 0..<51 { #expect(self.failures.countInvalidCredentials(of: 7, now: self.now) == nil) }
        #expect(self.failures.countInvalidCredentials(of: 7, now: self.now) == 1)
        #expect(self.failures.countInvalidCredentials(of: 8, now: self.now) == nil)
        #expect(self.signIn(1, 7) == nil, "a password")
        self.now += 1
        #expect(self.failures.countInvalidCredentials(of: 7, now: self.now) == nil)
    }

    // MARK: The order of hashes

    @Test mutating func knownAddressesRankFirstAndThenFewestFailures() {
        func rank(_ verdict: SignInFailures.Verdict) -> Int? {
            if case .mayTry(let attempt) = verdict { attempt.rank } else { nil }
        }
        #expect(self.signIn(1, 7) == nil)
        for account in UInt64(2)..<6 { #expect(self.fail(account, 7) == nil) }
        #expect(rank(self.failures.begin(Self.attempt(1, 7), now: self.now)) == 0, "known")
        #expect(rank(self.failures.begin(Self.attempt(1, 8), now: self.now)) == 1, "new")
        #expect(rank(self.failures.begin(Self.attempt(1, 8), now: self.now)) == 3, "again")
        #expect(rank(self.failures.begin(Self.attempt(9, 7), now: self.now)) == 5, "has failed on four others")
    }

    @Test mutating func attemptsRefusedAsBusyCountForTheAddressOnly() {
        for _ in 0..<10 {
            guard case .mayTry(let attempt) = self.failures.begin(Self.attempt(1, 7), now: self.now) else {
                Issue.record("refused")
                return
            }
            self.failures.cancel(attempt, now: self.now)
        }
        guard case .mayTry(let attempt) = self.failures.begin(Self.attempt(1, 7), now: self.now) else {
            Issue.record("refused")
            return
        }
        #expect(attempt.rank == 11)
    }

    // MARK: The decision table of `begin`

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var isKnown = false
        /// The number of failed attempts that the address has made on the account.
        var failures = 0
        let rank: Int
        /// Whether one more failure counts for the account and for the address.
        let countsForAccount: Bool
        let countsForAddress: Bool
    }

    /// Begins an attempt on a copy of the limiter, so that the attempt does not count.
    private func probe(_ account: UInt64, _ address: UInt64) throws -> SignInAttempt {
        var failures = self.failures
        guard case .mayTry(let attempt) = failures.begin(Self.attempt(account, address), now: self.now) else {
            throw CancellationError()
        }
        return attempt
    }

    @Test(arguments: [
        Row(testDescription: "known", isKnown: true, rank: 0, countsForAccount: false, countsForAddress: false),
        Row(
            testDescription: "known, has failed",
            isKnown: true,
            failures: 3,
            rank: 0,
            countsForAccount: false,
            countsForAddress: false
        ),
        Row(testDescription: "a new stranger", rank: 1, countsForAccount: true, countsForAddress: true),
        Row(
            testDescription: "a stranger again",
            failures: 1,
            rank: 3,
            countsForAccount: true,
            countsForAddress: false
        ),
        Row(
            testDescription: "a stranger for the third time",
            failures: 2,
            rank: 4,
            countsForAccount: true,
            countsForAddress: false
        ),
    ])
    mutating func knownAndStrangeAddressesAreRankedAndCountedDifferently(row: Row) throws {
        if row.isKnown { #expect(self.signIn(1, 7) == nil) }
        for _ in 0..<row.failures { #expect(self.fail(1, 7) == nil) }
        // The number of the account's failures from unknown addresses is one less than the number
        // that the limiter takes for an attack.
        let strangers = SignInFailures.attack - 1 - (row.isKnown ? 0 : row.failures)
        for address in 0..<UInt64(strangers) { #expect(self.fail(1, 1000 + address) == nil) }
        let before = try self.probe(2, 7).rank
        #expect(try self.probe(1, 7).rank == row.rank)
        #expect(try !self.probe(1, 99).isUnderAttack)
        #expect(self.fail(1, 7) == nil)
        #expect(try self.probe(1, 99).isUnderAttack == row.countsForAccount)
        #expect(try self.probe(2, 7).rank - before == (row.countsForAddress ? 1 : 0))
    }

    // MARK: Limits

    @Test mutating func memoryIsBounded() {
        for number in 0..<UInt64(120_000) {
            _ = self.fail(number, number)
            _ = self.failures.countInvalidCredentials(of: number, now: self.now)
        }
        #expect(self.failures.count <= 98_304 * 2 + 49_152 * 5 + 12_288)
    }
}
