internal import Foundation

/// A count of recent failures, and the wait until the next attempt.
///
/// The first failures cause no wait; each further failure doubles the wait. Failures are forgiven
/// one by one over time.
struct FailureCount: Sendable {
    struct Rule: Sendable {
        /// The number of failures that cause no wait.
        let free: Int
        /// The wait after the first failure that is not free, and the longest wait, in seconds.
        let waits: ClosedRange<TimeInterval>
        /// The number of seconds until one failure is forgiven.
        let forgiveness: TimeInterval

        /// The number of seconds to wait after `count` failures.
        func wait(after count: Int) -> TimeInterval {
            guard count > self.free else { return 0 }
            return min(self.waits.upperBound, self.waits.lowerBound * exp2(Double(count - self.free - 1)))
        }

        /// The highest count of failures. A higher count would not make the wait longer, and would
        /// take too long to be forgiven.
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

    /// The number of seconds left to wait. If the clock is set back, this number does not get
    /// greater than the whole wait.
    func remaining(at now: Date) -> TimeInterval {
        max(0, min(self.wait, self.countedAt + self.wait - now.timeIntervalSinceReferenceDate))
    }

    mutating func add(at now: Date, _ rule: Rule) {
        let remaining = self.remaining(at: now, rule)
        self.failures = min(remaining + 1, max(remaining, rule.most))
        self.countedAt = now.timeIntervalSinceReferenceDate
        self.wait = rule.wait(after: self.count(at: now, rule))
    }

    /// Removes the failure that was counted when an attempt began, because the attempt has not
    /// failed.
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
    /// The rule for the failures of one address on one account. A guesser gets a few hundred
    /// guesses a day.
    static let pair = Self(free: 5, waits: 1...900, forgiveness: 1800)
    /// The rule for the failures of one address on an account that is under attack, and to which
    /// the address has never signed in. The first guess needs no wait; all later waits are long.
    static let stranger = Self(free: 0, waits: 60...900, forgiveness: 1800)
    /// The rule for the failures on an account if the addresses of clients are unknown. The
    /// account's owner then waits with everybody else, so the waits are short.
    static let nowhere = Self(free: 5, waits: 1...60, forgiveness: 1800)
    /// The rule for the failures of one site on one account. A site is an IPv6 network of /56:
    /// most providers give one customer a /56, which contains 256 networks of /64.
    static let sitePair = Self(free: 10, waits: 1...900, forgiveness: 900)
    /// The rule for the failures of one organisation on one account. An organisation is an IPv6
    /// network of /48: companies get a /48, and some providers give one to every customer.
    static let organisationPair = Self(free: 20, waits: 1...900, forgiveness: 450)
    /// The rule for attempts that were refused during a wait, from an address that has signed in
    /// to the account before. As long as there are no more than `free` such attempts, the right
    /// password is still accepted.
    static let refused = Self(free: 100, waits: 900...900, forgiveness: 864)
    /// The rule for one address. Each account that the address has tried without success, and has
    /// never signed in to, counts as one failure.
    static let address = Self(free: 20, waits: 1...900, forgiveness: 300)
    /// The rule for all addresses of a site (/56) together, as `address` is for one address.
    static let site = Self(free: 60, waits: 1...900, forgiveness: 100)
    /// The rule for all addresses of an organisation (/48) together, as `address` is for one
    /// address. Thousands of a carrier's phones may share a /48, and an attempt counts as a
    /// failure while it waits for a hash. So `free` is greater than the number of sign-ins that
    /// may wait.
    static let organisation = Self(free: 300, waits: 1...900, forgiveness: 20)
    /// The rule for one address's invalid credentials that name no account: unknown tokens,
    /// certificates of unknown users. Such credentials cannot be guessed, and the credentials of a
    /// whole office may expire on the same day, so many failures are free.
    static let credentials = Self(free: 50, waits: 1...60, forgiveness: 10)
    /// The rule for the failures on an account from addresses that have never signed in to it.
    /// These failures cause no wait; they only show that the account is under attack.
    static let account = Self(free: 100, waits: 1...1, forgiveness: 180)
}
