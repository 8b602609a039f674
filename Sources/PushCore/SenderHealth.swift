package import Foundation

/// A circuit breaker: decides by a provider's answers so far whether the provider may be called.
/// It makes no calls itself.
///
/// It pauses when the provider asks for it, when calls fail in a row, and when the provider
/// refuses the server. Afterwards it sends one push as a probe, and resumes only if the provider's
/// answer shows that it has recovered. One user's devices alone never make it pause. If a refusal
/// may be the device's fault or the server's, the circuit breaker counts the refused users. One
/// accepted push resets that count.
package struct SenderHealth: Sendable {
    package enum Admission: Sendable, Hashable {
        case go
        /// Only this push may be sent, as a probe of the provider.
        case probe
        case delay(until: Date)
        /// The probe is being sent.
        case wait
    }

    /// The number of failed calls in a row that count as an outage.
    package static let failuresInARow = 10
    /// If the provider answers "too many requests" for devices of this many users in a row, the
    /// provider limits the whole sender, not single devices.
    package static let busyUsersInARow = 5
    /// If the provider does not know the devices of this many users in a row, the fault is the
    /// server's.
    package static let refusedUsersInARow = 5
    /// If the provider reports the devices of this many users in a row as gone, and accepts no
    /// push in between, the server doubts the reports.
    package static let goneUsersInARow = 20
    /// The number of seconds for which an accepted push rules out a fault of the server.
    package static let trust: TimeInterval = 600
    /// The first delay of an outage; each later one is twice as long, up to `longestDelay`.
    package static let firstDelay: TimeInterval = 1
    package static let longestDelay: TimeInterval = 300
    /// The first delay after a refusal that an operator must fix; each later one is twice as long,
    /// up to `longestPause`.
    package static let firstPause: TimeInterval = 60
    package static let longestPause: TimeInterval = 900
    /// The longest delay after a probe to an address that never had an accepted push.
    package static let longestDelayForNew: TimeInterval = 60
    /// The largest number of users in each set.
    private static let rememberedUsers = 1000

    /// The current pause; `nil` while the provider is healthy.
    package private(set) var pause: Pause?
    private var isProbing = false
    private var failures = 0
    /// The number of refusals of the credential since the last answer to a push with a valid one.
    private var credentialRefusals = 0
    private var busyUsers: Set<Int64> = []
    /// Users with a device that the provider does not know, counted since the last accepted push.
    private var refusedUsers: Set<Int64> = []
    /// Users with a device that the provider calls gone, counted since the last accepted push.
    private var goneUsers: Set<Int64> = []
    private var acceptedAt: Date?
    /// When the provider last gave the answer of a healthy provider.
    package private(set) var answeredAt: Date?
    /// How many delays the pause has had; each makes the next one longer.
    package private(set) var delayCount = 0
    private var hasDoubted = false
    private var hasRefusedKind = false
    private let hasUnrelatedHosts: Bool

    /// `hasUnrelatedHosts`: Each device has named its own host, so no failure says anything about
    /// the others, and the lane never pauses.
    package init(hasUnrelatedHosts: Bool = false) {
        self.hasUnrelatedHosts = hasUnrelatedHosts
    }

    /// Whether a push may be sent now. A caller that gets `probe` calls `record` with the probe's
    /// answer, if there is one, and then always `endProbe`.
    package mutating func admit(now: Date) -> Admission {
        let admission = self.admission(now: now)
        if admission == .probe { self.isProbing = true }
        return admission
    }

    /// The answer of `admit`, without beginning a probe.
    package func admission(now: Date) -> Admission {
        guard let pause = self.pause else { return .go }
        if self.isProbing { return .wait }
        return pause.until > now ? .delay(until: pause.until) : .probe
    }

    /// The choice of the next probe.
    package var probeChoice: ProbeChoice {
        // After a change of the server, such as another VAPID key, the provider refuses known
        // addresses and accepts some new ones. So probes alternate between known and new
        // addresses, and begin with a known one.
        let takesTurns = self.pause?.cause == .devicesRefused && self.delayCount.isMultiple(of: 2)
        return ProbeChoice(takesTurns ? .new : .known, avoiding: self.refusedUsers.union(self.busyUsers))
    }

    /// The blame for a device that the provider does not know, after the call of `record`.
    ///
    /// After an accepted push the device is at fault. Once the devices of many users in a row are
    /// refused, a fault of the server is likely.
    package var blame: Blame {
        if self.pause?.cause == .devicesRefused { return .us }
        return self.acceptedAt != nil && self.refusedUsers.count < Self.refusedUsersInARow ? .device : .unclear
    }

    /// The blame for a device that the provider calls gone, after the call of `record`.
    ///
    /// The server is at fault if the provider calls the devices of many users in a row gone. A
    /// network that redirects or blocks requests causes such answers, and must not retire all
    /// devices.
    package var blameForGone: Blame { self.goneUsers.count < Self.goneUsersInARow ? .device : .us }

    /// Records the outcome of a call for a device of `user`; returns an event if an operator must
    /// know about it.
    ///
    /// - Parameters:
    ///   - isKnown: Whether a push was accepted at the address before.
    ///   - isRepeated: Whether the push was tried before. A further attempt shows nothing new
    ///     about an unknown address.
    ///   - jitter: A random number from 0 to 1.
    package mutating func record(
        _ outcome: SendOutcome,
        user: Int64,
        isKnown: Bool,
        isRepeated: Bool = false,
        now: Date,
        jitter: Double
    ) -> HealthEvent? {
        if self.hasUnrelatedHosts, case .failure = outcome { return nil }
        let (old, wasProbing) = (self.pause, self.isProbing)
        if outcome.isAnswer { self.answeredAt = now }
        switch outcome {
        case .success: self.trust(now: now)
        // This is a refusal, but from a healthy provider.
        case .failure(.rejected), .failure(.offline): self.recover()
        case .failure(.deviceGone(let reason, _)):
            let before = self.goneUsers.count
            Self.remember(user, in: &self.goneUsers)
            self.recover()
            let isDoubted = before < Self.goneUsersInARow && self.goneUsers.count == Self.goneUsersInARow
            if old == nil, isDoubted { return .manyGone(reason: reason) }
        case .failure(.kindRefused(let reason)):
            self.recover()
            if old == nil, !self.hasRefusedKind {
                self.hasRefusedKind = true
                return .kindRefused(reason: reason)
            }
        // A repeated push does not count against the provider: otherwise waiting pushes would
        // pause a lane that has little else to send.
        case .failure(.deviceUnknown) where isRepeated && !wasProbing,
            .failure(.deviceNotFound) where isRepeated && !wasProbing:
            self.recover()
        case .failure(.deviceUnknown(let reason)), .failure(.deviceNotFound(let reason)):
            self.suspect(reason, user: user, isKnown: isKnown, now: now)
            if old == nil, self.pause == nil, self.acceptedAt == nil, !self.hasDoubted {
                self.hasDoubted = true
                return .doubted(reason: reason)
            }
        case .failure(.deviceBusy(let reason, let retryAfter)):
            Self.remember(user, in: &self.busyUsers)
            guard self.isProbing || self.busyUsers.count >= Self.busyUsersInARow else { return nil }
            self.beginPause(.throttled, reason, until: now + retryAfter.timeInterval, now: now)
        case .failure(.overloaded(let reason, let retryAfter)):
            self.beginPause(.overloaded, reason, until: now + retryAfter.timeInterval, now: now)
        case .failure(.unavailable(let reason, _, _)):
            self.failures += 1
            guard self.isProbing || self.failures >= Self.failuresInARow else { return nil }
            let longest = self.length(from: Self.firstDelay, to: Self.longestDelay, isKnown: isKnown)
            self.beginPause(.outage, reason, until: now + max(longest * jitter, Self.firstDelay / 2), now: now)
        case .failure(.misconfigured(let reason)), .failure(.credentialExpired(let reason)):
            self.beginPause(.misconfigured, reason, isKnown: isKnown, now: now)
        case .failure(.credentialRefused(let reason)):
            self.credentialRefusals += 1
            guard self.isCredentialWrong(afterRetry: isRepeated) else { return nil }
            self.beginPause(.misconfigured, reason, isKnown: isKnown, now: now)
        }
        let event = HealthEvent(from: old, to: self.pause, now: now)
        // Other pushes that were being sent may make a delay a little longer; that is not
        // reported.
        if case .prolonged = event, !wasProbing { return nil }
        return event
    }

    /// Ends the probe. After a probe without an answer, another one follows.
    package mutating func endProbe() {
        self.isProbing = false
    }

    /// Pauses until `date`, since the provider has asked another server for that; returns an event
    /// if this has changed the pause.
    package mutating func beginPause(until date: Date, reason: String, now: Date) -> HealthEvent? {
        let old = self.pause
        guard date > now, date > old?.until ?? .distantPast else { return nil }
        self.beginPause(.overloaded, reason, until: date, now: now)
        return HealthEvent(from: old, to: self.pause, now: now)
    }

    /// Whether the provider has answered this server since another server's pause began: then the
    /// other server itself has a fault.
    package func contradicts(_ pause: Pause) -> Bool {
        self.answeredAt.map { $0 > pause.since } ?? false
    }

    /// Joins another server's pause, which has had `delayCount` delays; returns an event if this
    /// server was not paused.
    package mutating func join(_ other: Pause, delayCount: Int, now: Date) -> HealthEvent? {
        // This server's own probe is being sent, and its answer decides.
        if self.isProbing { return nil }
        guard let own = self.pause else {
            (self.pause, self.delayCount) = (other, delayCount)
            return .paused(other)
        }
        if own.cause.needsOperator { return nil }
        self.pause = own.prolonged(until: other.until)
        self.delayCount = max(self.delayCount, delayCount)
        return nil
    }

    /// Ends this server's pause after a probe of another server, unless an operator must fix the
    /// cause; returns an event if it has ended one.
    package mutating func leave() -> HealthEvent? {
        guard let pause = self.pause, !self.isProbing, !pause.cause.needsOperator else { return nil }
        self.recover()
        self.endPause()
        return .resumed(pause)
    }

    /// Leaves the probe to another server until `date`.
    package mutating func postpone(until date: Date) {
        self.pause = self.pause?.prolonged(until: date)
    }

    /// Clears all failures, for example after new credentials; returns an event if that ends a
    /// pause.
    package mutating func reset() -> HealthEvent? {
        let old = self.pause
        self = SenderHealth(hasUnrelatedHosts: self.hasUnrelatedHosts)
        return old.map { .resumed($0) }
    }

    // MARK: - Private

    private mutating func trust(now: Date) {
        self.acceptedAt = now
        self.refusedUsers.removeAll()
        self.goneUsers.removeAll()
        // An accepted push proves that the fault is not the server's, even if that push was being
        // sent before the pause.
        if self.pause?.cause == .devicesRefused { self.endPause() }
        self.recover()
    }

    /// Whether refusals of the credential are more than the provider's occasional mistake.
    ///
    /// They are if no push was accepted before, or none between two attempts of the same push.
    /// They also are if many pushes are refused in a row.
    private func isCredentialWrong(afterRetry isRepeated: Bool) -> Bool {
        self.acceptedAt == nil || self.isProbing || (isRepeated && self.credentialRefusals > 1)
            || self.credentialRefusals >= Self.failuresInARow
    }

    private mutating func recover() {
        self.failures = 0
        self.credentialRefusals = 0
        self.busyUsers.removeAll()
        // A push that was being sent when the pause began does not end the pause.
        if self.isProbing { self.endPause() }
    }

    private mutating func endPause() {
        self.isProbing = false
        self.pause = nil
        self.delayCount = 0
    }

    private mutating func suspect(_ reason: String, user: Int64, isKnown: Bool, now: Date) {
        Self.remember(user, in: &self.refusedUsers)
        let isTrusted = self.acceptedAt.map { now.timeIntervalSince($0) < Self.trust } ?? false
        if isTrusted || self.refusedUsers.count < Self.refusedUsersInARow { return self.recover() }
        // The answers to other pushes that were being sent when the pause began show nothing new.
        if self.pause?.cause == .devicesRefused, !self.isProbing { return }
        let words = "devices of \(Self.refusedUsersInARow) users in a row refused, none accepted: \(reason)"
        self.beginPause(.devicesRefused, words, isKnown: isKnown, now: now)
    }

    private mutating func beginPause(_ cause: Pause.Cause, _ reason: String, isKnown: Bool, now: Date) {
        let length = self.length(from: Self.firstPause, to: Self.longestPause, isKnown: isKnown)
        self.beginPause(cause, reason, until: now + length, now: now)
    }

    private mutating func beginPause(_ cause: Pause.Cause, _ reason: String, until date: Date, now: Date) {
        guard let pause = self.pause, !self.isProbing else {
            self.pause = Pause(cause, reason: reason, since: self.pause?.since ?? now, until: date)
            self.isProbing = false
            self.delayCount += 1
            return
        }
        // Other pushes that were being sent belong to the same outage, unless they report
        // something worse.
        let isWorse = cause.needsOperator && !pause.cause.needsOperator
        self.pause = Pause(
            isWorse ? cause : pause.cause,
            reason: isWorse ? reason : pause.reason,
            since: pause.since,
            until: max(pause.until, date)
        )
    }

    /// The length of the next delay. A probe to an address that somebody may have invented must
    /// not make the delay long for all devices.
    private func length(from first: TimeInterval, to longest: TimeInterval, isKnown: Bool) -> TimeInterval {
        let limit = self.isProbing && !isKnown ? min(longest, Self.longestDelayForNew) : longest
        // A push that was being sent lengthens the current delay, and does not start another one.
        let doublings = self.pause == nil || self.isProbing ? self.delayCount : self.delayCount - 1
        return min(first * pow(2, Double(min(doublings, 20))), limit)
    }

    private static func remember(_ user: Int64, in users: inout Set<Int64>) {
        if users.count < self.rememberedUsers { users.insert(user) }
    }
}

extension Pause {
    fileprivate func prolonged(until date: Date) -> Pause {
        Pause(self.cause, reason: self.reason, since: self.since, until: max(self.until, date))
    }
}

extension SendOutcome {
    /// Whether a healthy provider has answered, even with a refusal.
    fileprivate var isAnswer: Bool {
        switch self {
        case .success: true
        case .failure(let failure):
            switch failure {
            case .rejected, .offline, .deviceGone, .deviceUnknown, .deviceNotFound, .kindRefused: true
            default: false
            }
        }
    }
}
