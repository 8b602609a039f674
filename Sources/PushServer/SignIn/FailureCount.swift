internal import Foundation

/// How often something has failed lately, and until when it must not be tried again.
///
/// Some failures are free; from then on each doubles the wait. One after the other is forgiven with time.
struct FailureCount: Sendable {
    struct Rule: Sendable {
        /// Failures that nobody waits after.
        let free: Int
        /// The wait after the first that is not free, and the longest, in seconds.
        let waits: ClosedRange<TimeInterval>
        /// Seconds until one is forgiven.
        let forgiveness: TimeInterval

        /// How long to wait after so many failures.
        func wait(after count: Int) -> TimeInterval {
            guard count > self.free else { return 0 }
            return min(self.waits.upperBound, self.waits.lowerBound * exp2(Double(count - self.free - 1)))
        }

        /// More are not counted: the wait grows no longer, and forgiveness would take for ever.
        fileprivate var most: Double {
            Double(self.free) + log2(self.waits.upperBound / self.waits.lowerBound).rounded(.up) + 1
        }
    }

    private var failures = 0.0
    private var countedAt: TimeInterval
    private var wait: TimeInterval = 0

    init(now: Date) {
        self.countedAt = now.timeIntervalSinceReferenceDate
    }

    /// The failures that are not forgiven yet.
    func count(at now: Date, _ rule: Rule) -> Int {
        Int(self.rest(at: now, rule).rounded(.up))
    }

    /// Seconds that are left to wait. A clock that was put back makes none longer than it was.
    func remaining(at now: Date) -> TimeInterval {
        max(0, min(self.wait, self.countedAt + self.wait - now.timeIntervalSinceReferenceDate))
    }

    mutating func add(at now: Date, _ rule: Rule) {
        let rest = self.rest(at: now, rule)
        self.failures = min(rest + 1, max(rest, rule.most))
        self.countedAt = now.timeIntervalSinceReferenceDate
        self.wait = rule.wait(after: self.count(at: now, rule))
    }

    /// Takes one back that was counted before it was known to be one.
    mutating func takeBack(at now: Date, _ rule: Rule) {
        self.failures = max(0, self.failures - 1)
        self.wait = rule.wait(after: self.count(at: now, rule))
    }

    private func rest(at now: Date, _ rule: Rule) -> Double {
        let elapsed = max(0, now.timeIntervalSinceReferenceDate - self.countedAt)
        return max(0, self.failures - elapsed / rule.forgiveness)
    }
}

extension FailureCount.Rule {
    /// An account from one address: a guesser gets some hundred guesses a day.
    static let pair = Self(free: 5, waits: 1...900, forgiveness: 1800)
    /// The same for an address that has never signed in to an account which is attacked: one guess, and long waits.
    static let stranger = Self(free: 0, waits: 60...900, forgiveness: 1800)
    /// An account where no address is known: everybody who may be its owner waits, so nobody waits for long.
    static let nowhere = Self(free: 5, waits: 1...60, forgiveness: 1800)
    /// An account from a site, a /56: one customer of most providers has as many addresses as 256 of /64.
    static let sitePair = Self(free: 10, waits: 1...900, forgiveness: 900)
    /// An account from an organisation, a /48, which is given to companies and to anybody at some providers.
    static let organisationPair = Self(free: 20, waits: 1...900, forgiveness: 450)
    /// An account from an address that knows it, by wrong attempts during a wait: so many do not lock out the right password.
    static let refused = Self(free: 100, waits: 900...900, forgiveness: 864)
    /// An address, by accounts that it has failed on and never signed in to.
    static let address = Self(free: 20, waits: 1...900, forgiveness: 300)
    /// The same for a /56.
    static let site = Self(free: 60, waits: 1...900, forgiveness: 100)
    /// The same for a /48, which a carrier may share among thousands of phones: more than may wait for a hash at a time.
    static let organisation = Self(free: 300, waits: 1...900, forgiveness: 20)
    /// An address, by invalid credentials that name no account: unknown tokens, certificates of unknown users. They cannot
    /// be guessed, and those of a whole office may expire on the same day.
    static let credentials = Self(free: 50, waits: 1...60, forgiveness: 10)
    /// An account, by failures from addresses that have never signed in to it. Nobody waits for these.
    static let account = Self(free: 100, waits: 1...1, forgiveness: 180)
}
