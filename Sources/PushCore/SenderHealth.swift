package import Foundation

/// A circuit breaker: it decides by the answers of a provider so far whether the provider may be
/// called. It makes no calls itself.
///
/// It begins a pause when the provider requests that, when several calls in a row fail, and when
/// the provider refuses the server. After the pause it admits one push as a probe. It admits all
/// pushes again only if the provider's answer to the probe shows that the provider has recovered.
/// The devices of only one user never cause a pause. If a refusal may be the device's fault or the
/// server's, the circuit breaker counts the users whose devices were refused. One accepted push
/// resets that count.
package struct SenderHealth: Sendable {
    package enum Admission: Sendable, Hashable {
        case go
        /// Only this push may be sent, as a probe that shows whether the provider has recovered.
        case probe
        case delay(until: Date)
        /// No push may be sent now, because the probe is being sent.
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
    /// The first delay in an outage, in seconds; each later delay is twice as long, up to
    /// `longestDelay`.
    package static let firstDelay: TimeInterval = 1
    package static let longestDelay: TimeInterval = 300
    /// The first delay, in seconds, after a refusal whose cause an operator must fix; each later
    /// delay is twice as long, up to `longestPause`.
    package static let firstPause: TimeInterval = 60
    package static let longestPause: TimeInterval = 900
    /// The longest delay, in seconds, after a failed probe to an address that has never got an
    /// accepted push.
    package static let longestDelayForNew: TimeInterval = 60
    /// The largest number of users in each of the sets below.
    private static let rememberedUsers = 1000

    /// The current pause; `nil` while the provider is healthy.
    package private(set) var pause: Pause?
    private var isProbing = false
    private var failures = 0
    /// The number of times that the provider has refused the server's credential since its last
    /// answer without such a refusal.
    private var credentialRefusals = 0
    private var busyUsers: Set<Int64> = []
    /// The users with a device that the provider has called unknown since it last accepted a push.
    private var refusedUsers: Set<Int64> = []
    /// The users with a device that the provider has called gone since it last accepted a push.
    private var goneUsers: Set<Int64> = []
    private var acceptedAt: Date?
    /// The time at which the provider last gave an answer that only a healthy provider gives.
    package private(set) var answeredAt: Date?
    /// The number of delays in the pause so far; each delay makes the next one longer.
    package private(set) var delayCount = 0
    private var hasDoubted = false
    private var hasRefusedKind = false
    private let hasUnrelatedHosts: Bool

    /// If `hasUnrelatedHosts` is `true`, each device has named a host of its own. A failure at one
    /// host then says nothing about other hosts, so it never causes a pause.
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

    /// The result that `admit` would return; does not begin a probe.
    package func admission(now: Date) -> Admission {
        guard let pause = self.pause else { return .go }
        if self.isProbing { return .wait }
        return pause.until > now ? .delay(until: pause.until) : .probe
    }

    /// The choice of the next probe.
    package var probeChoice: ProbeChoice {
        // After a change of the server, such as another VAPID key, the provider refuses addresses
        // that it accepted before, and accepts some new ones. So probes alternate between old and
        // new addresses, and begin with an old one.
        let takesTurns = self.pause?.cause == .devicesRefused && self.delayCount.isMultiple(of: 2)
        return ProbeChoice(takesTurns ? .new : .known, avoiding: self.refusedUsers.union(self.busyUsers))
    }

    /// Whether the device or the server is at fault if the provider does not know a device; valid
    /// after the call of `record`.
    ///
    /// After an accepted push the device is at fault. After the devices of many users in a row
    /// were refused, the fault is likely the server's.
    package var blame: Blame {
        if self.pause?.cause == .devicesRefused { return .us }
        return self.acceptedAt != nil && self.refusedUsers.count < Self.refusedUsersInARow ? .device : .unclear
    }

    /// Whether the device or the server is at fault if the provider calls a device gone; valid
    /// after the call of `record`.
    ///
    /// The server is at fault if the provider calls the devices of many users in a row gone. A
    /// network that redirects or blocks requests can cause such answers; such answers must not
    /// retire all devices.
    package var blameForGone: Blame { self.goneUsers.count < Self.goneUsersInARow ? .device : .us }

    /// Records the outcome of a call for a device of `user`; returns an event if an operator must
    /// know about it.
    ///
    /// - Parameters:
    ///   - isKnown: Whether a push was accepted at the address before.
    ///   - isRepeated: Whether the push was tried before. A further attempt shows nothing new
    ///     about an address that the provider does not know.
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
        // The answer is a refusal, but only a healthy provider gives it.
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
        // A push that is sent again does not count against the provider: otherwise, if there are
        // few other pushes, retries could cause a pause.
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
        // The answers to other pushes that were being sent when the pause began may make a delay a
        // little longer; such a change is not reported.
        if case .prolonged = event, !wasProbing { return nil }
        return event
    }

    /// Ends the probe. If it had no answer, another probe follows.
    package mutating func endProbe() {
        self.isProbing = false
    }

    /// Begins or prolongs a pause until `date`, since the provider has requested this delay from
    /// another server. Returns an event if the pause of this server has changed.
    package mutating func beginPause(until date: Date, reason: String, now: Date) -> HealthEvent? {
        let old = self.pause
        guard date > now, date > old?.until ?? .distantPast else { return nil }
        self.beginPause(.overloaded, reason, until: date, now: now)
        return HealthEvent(from: old, to: self.pause, now: now)
    }

    /// Whether the provider has answered this server since another server's pause began. In that
    /// case, the other server itself has a fault.
    package func contradicts(_ pause: Pause) -> Bool {
        self.answeredAt.map { $0 > pause.since } ?? false
    }

    /// Makes another server's pause, which has had `delayCount` delays, apply to this server.
    /// Returns an event if this server was not paused.
    package mutating func join(_ other: Pause, delayCount: Int, now: Date) -> HealthEvent? {
        // This server's own probe is being sent; the answer to that probe decides.
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

    /// Ends this server's pause after a probe of another server was accepted, unless an operator
    /// must fix the pause's cause. Returns an event if a pause has ended.
    package mutating func leave() -> HealthEvent? {
        guard let pause = self.pause, !self.isProbing, !pause.cause.needsOperator else { return nil }
        self.recover()
        self.endPause()
        return .resumed(pause)
    }

    /// Sends no probe before `date`, because another server sends the next probe.
    package mutating func postpone(until date: Date) {
        self.pause = self.pause?.prolonged(until: date)
    }

    /// Clears all failures, for example after new credentials; returns an event if that has ended
    /// a pause.
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

    /// Whether the credential is wrong; otherwise its refusals are an occasional mistake of the
    /// provider.
    ///
    /// The credential is wrong if the provider has accepted no push before, or refuses a probe. It
    /// is also wrong if the provider refuses a push twice and accepts no push in between, or
    /// refuses many pushes in a row.
    private func isCredentialWrong(afterRetry isRepeated: Bool) -> Bool {
        self.acceptedAt == nil || self.isProbing || (isRepeated && self.credentialRefusals > 1)
            || self.credentialRefusals >= Self.failuresInARow
    }

    private mutating func recover() {
        self.failures = 0
        self.credentialRefusals = 0
        self.busyUsers.removeAll()
        // Only the answer to a probe ends the pause, not the answer to a push that was being sent
        // when the pause began.
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
        // The failures of other pushes that were being sent when the pause began belong to the
        // same pause, unless an operator must fix their cause.
        let isWorse = cause.needsOperator && !pause.cause.needsOperator
        self.pause = Pause(
            isWorse ? cause : pause.cause,
            reason: isWorse ? reason : pause.reason,
            since: pause.since,
            until: max(pause.until, date)
        )
    }

    /// The length of the next delay. The failure of a probe to an address that somebody may have
    /// invented must not cause a long delay for all devices.
    private func length(from first: TimeInterval, to longest: TimeInterval, isKnown: Bool) -> TimeInterval {
        let limit = self.isProbing && !isKnown ? min(longest, Self.longestDelayForNew) : longest
        // The failure of a push that was being sent when the pause began lengthens the current
        // delay, and does not begin another delay.
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
    /// Whether only a healthy provider gives this answer, which may be a refusal.
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
