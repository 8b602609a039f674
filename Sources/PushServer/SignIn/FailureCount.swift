internal import Foundation

/// A count of recent failures, and the wait until the next attempt.
///
/// The first failures cause no wait; each further one doubles the wait. Failures are forgiven one
/// by one over time.
struct FailureCount: Sendable {
    struct Rule: Sendable {
        /// The number of failures that cause no wait.
        let free: Int
        /// The wait after the first failure that is not free, and the longest wait, in seconds.
        let waits: ClosedRange<TimeInterval>
        /// The seconds until one failure is forgiven.
        let forgiveness: TimeInterval

        /// The seconds to wait after `count` failures.
        func wait(after count: Int) -> TimeInterval {
            guard count > self.free else { return 0 }
            return min(self.waits.upperBound, self.waits.lowerBound * exp2(Double(count - self.free - 1)))
        }

        /// The highest count: beyond it the wait does not grow, and forgiveness would take too
        /// long.
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

    /// The number of failures that are not forgiven yet.
    func count(at now: Date, _ rule: Rule) -> Int {
        Int(self.remaining(at: now, rule).rounded(.up))
    }

    /// The seconds left to wait. If the clock is set back, the wait does not grow.
    func remaining(at now: Date) -> TimeInterval {
        max(0, min(self.wait, self.countedAt + self.wait - now.timeIntervalSinceReferenceDate))
    }

    mutating func add(at now: Date, _ rule: Rule) {
        let remaining = self.remaining(at: now, rule)
        self.failures = min(remaining + 1, max(remaining, rule.most))
        self.countedAt = now.timeIntervalSinceReferenceDate
        self.wait = rule.wait(after: self.count(at: now, rule))
    }

    /// Removes a failure that was counted before its attempt ended.
    mutating func takeBack(at now: Date, _ rule: Rule) {
        self.failures = max(0, self.failures - 1)
        self.wait = rule.wait(after: self.count(at: now, rule))
    }

    private func remaining(at now: Date, _ rule: Rule) -> Double {
        let elapsed = max(0, now.timeIntervalSinceReferenceDate - self.countedAt)
        return max(0, self.failures - elapsed / rule.forgiveness)
    }
}

extension FailureCount.Rule {
    /// For an account and one address: a guesser gets a few hundred guesses a day.
    static let pair = Self(free: 5, waits: 1...900, forgiveness: 1800)
    /// For an account under attack, and one address that has never signed in to it: one guess, and
    /// long waits.
    static let stranger = Self(free: 0, waits: 60...900, forgiveness: 1800)
    /// For an account if the client's address is unknown. Its owner waits with everybody else, so
    /// the waits are short.
    static let nowhere = Self(free: 5, waits: 1...60, forgiveness: 1800)
    /// For an account and a site, a /56: most providers give one customer a /56, which has 256
    /// networks of /64.
    static let sitePair = Self(free: 10, waits: 1...900, forgiveness: 900)
    /// For an account and an organisation, a /48, which companies get, and at some providers any
    /// customer.
    static let organisationPair = Self(free: 20, waits: 1...900, forgiveness: 450)
    /// For the refused attempts during a wait, from an address that has signed in to the account
    /// before. Up to the free number, the right password is not locked out.
    static let refused = Self(free: 100, waits: 900...900, forgiveness: 864)
    /// For an address: the accounts that it has failed on and never signed in to.
    static let address = Self(free: 20, waits: 1...900, forgiveness: 300)
    /// For the addresses of a /56, as for one address.
    static let site = Self(free: 60, waits: 1...900, forgiveness: 100)
    /// For the addresses of a /48, as for one address. A carrier may share one among thousands of
    /// phones: more than may wait for a hash at a time.
    static let organisation = Self(free: 300, waits: 1...900, forgiveness: 20)
    /// Invalid credentials from an address that name no account: unknown tokens, certificates of
    /// unknown users. They cannot be guessed, and those of a whole office may expire on the same
    /// day.
    static let credentials = Self(free: 50, waits: 1...60, forgiveness: 10)
    /// The failures on an account from addresses that have never signed in to it. They cause no
    /// wait.
    static let account = Self(free: 100, waits: 1...1, forgiveness: 180)
}
