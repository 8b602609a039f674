package import Foundation

/// Whether a provider may be called, after what it has answered so far: a circuit breaker. Decides; does nothing.
///
/// It pauses when the provider asks for that, when nothing gets through, and when we are refused; afterwards one push goes
/// first, and the others follow only if the provider takes notice of it. What one user's devices can bring about never
/// makes it pause: where a refusal may be the device's fault or ours, it counts users, and believes the first push that is
/// accepted more than all of them.
package struct SenderHealth: Sendable {
    package enum Admission: Sendable, Hashable {
        case go
        /// This one only, to see whether the provider is back.
        case probe
        case rest(until: Date)
        /// The probe is on its way.
        case wait
    }

    /// So many calls in a row that came to nothing are an outage.
    package static let failuresInARow = 10
    /// So many users in a row whose devices are all said to be sent too much are the provider's own limit.
    package static let busyUsersInARow = 5
    /// So many users in a row whose devices are unknown to the provider, and the fault is ours.
    package static let refusedUsersInARow = 5
    /// For so long, a push that was accepted rules out a fault of ours.
    package static let trust: TimeInterval = 600
    /// The first rest of an outage; each later one is twice as long, up to `longestRest`.
    package static let firstRest: TimeInterval = 1
    package static let longestRest: TimeInterval = 300
    /// The first rest after a refusal that an operator must mend; each later one is twice as long, up to `longestPause`.
    package static let pause: TimeInterval = 60
    package static let longestPause: TimeInterval = 900
    /// The longest rest after a probe to an address at which nothing was ever accepted.
    package static let longestRestForNew: TimeInterval = 60
    /// How many users are remembered of each kind.
    private static let rememberedUsers = 1000

    /// The pause that it is in; `nil` while all is well.
    package private(set) var pause: Pause?
    private var isProbing = false
    private var failures = 0
    private var busyUsers: Set<Int64> = []
    /// Users with a device that the provider does not know, since a push was last accepted.
    private var refusedUsers: Set<Int64> = []
    private var acceptedAt: Date?
    private var rests = 0
    private var hasDoubted = false

    package init() {}

    /// Whether a push may go now. Who is told `probe` reports its answer with `note`, and its end, whatever it was, with
    /// `endProbe`.
    package mutating func admit(now: Date) -> Admission {
        let admission = self.admission(now: now)
        if admission == .probe { self.isProbing = true }
        return admission
    }

    /// What `admit` would say, without beginning a probe.
    package func admission(now: Date) -> Admission {
        guard let pause = self.pause else { return .go }
        if self.isProbing { return .wait }
        return pause.until > now ? .rest(until: pause.until) : .probe
    }

    /// Which push is to be the next probe.
    package var probeChoice: ProbeChoice {
        // After a change of our own, such as another VAPID key, it is the known addresses that are refused, and some that
        // are new that are accepted. They take turns, known ones first.
        let takesTurns = self.pause?.cause == .devicesRefused && self.rests.isMultiple(of: 2)
        return ProbeChoice(takesTurns ? .new : .known, avoiding: self.refusedUsers.union(self.busyUsers))
    }

    /// Who is to blame that the provider does not know a device, after `note` has taken that in.
    ///
    /// Once a push was accepted, the device: until as many users are refused in a row as make a fault of ours likely.
    package var blame: Blame {
        if self.pause?.cause == .devicesRefused { return .us }
        return self.acceptedAt != nil && self.refusedUsers.count < Self.refusedUsersInARow ? .device : .unclear
    }

    /// Takes in how a call for a device of `user` ended; returns what an operator must know of that.
    ///
    /// - Parameters:
    ///   - isKnown: Whether a push was accepted at the address before.
    ///   - jitter: A random number from 0 to 1.
    package mutating func note(
        _ outcome: SendOutcome,
        user: Int64,
        isKnown: Bool,
        now: Date,
        jitter: Double
    ) -> HealthEvent? {
        let (old, wasProbing) = (self.pause, self.isProbing)
        switch outcome {
        case .success: self.trust(now: now)
        // No, but an answer of a provider that is well.
        case .failure(.rejected), .failure(.deviceGone), .failure(.offline): self.recover()
        case .failure(.deviceUnknown(let reason)):
            self.suspect(reason, user: user, isKnown: isKnown, now: now)
            if old == nil, self.pause == nil, self.acceptedAt == nil, !self.hasDoubted {
                self.hasDoubted = true
                return .doubted(reason: reason)
            }
        case .failure(.deviceBusy(let reason, let retryAfter)):
            Self.remember(user, in: &self.busyUsers)
            guard self.isProbing || self.busyUsers.count >= Self.busyUsersInARow else { return nil }
            self.rest(.throttled, reason, until: now + retryAfter.timeInterval, now: now)
        case .failure(.overloaded(let reason, let retryAfter)):
            self.rest(.overloaded, reason, until: now + retryAfter.timeInterval, now: now)
        case .failure(.unavailable(let reason, _)):
            self.failures += 1
            guard self.isProbing || self.failures >= Self.failuresInARow else { return nil }
            let longest = self.length(from: Self.firstRest, to: Self.longestRest, isKnown: isKnown)
            self.rest(.outage, reason, until: now + max(longest * jitter, Self.firstRest / 2), now: now)
        case .failure(.misconfigured(let reason)), .failure(.credentialExpired(let reason)):
            self.pause(.misconfigured, reason, isKnown: isKnown, now: now)
        }
        let event = HealthEvent(from: old, to: self.pause, now: now)
        // The others that were on their way may make a rest a little longer, which is no news.
        if case .prolonged = event, !wasProbing { return nil }
        return event
    }

    /// Takes in that the probe has ended. Without an answer it has shown nothing, and another goes in its place.
    package mutating func endProbe() {
        self.isProbing = false
    }

    /// Forgets all trouble, as after new credentials; returns what an operator must know of that.
    package mutating func reset() -> HealthEvent? {
        let old = self.pause
        self = SenderHealth()
        return old.map { .resumed($0) }
    }

    // MARK: - Private

    private mutating func trust(now: Date) {
        self.acceptedAt = now
        self.refusedUsers.removeAll()
        // The proof that it is not our fault, even if it was on its way before.
        if self.pause?.cause == .devicesRefused { self.endPause() }
        self.recover()
    }

    private mutating func recover() {
        self.failures = 0
        self.busyUsers.removeAll()
        // What was on its way when the rest began does not end it.
        if self.isProbing { self.endPause() }
    }

    private mutating func endPause() {
        self.isProbing = false
        self.pause = nil
        self.rests = 0
    }

    private mutating func suspect(_ reason: String, user: Int64, isKnown: Bool, now: Date) {
        Self.remember(user, in: &self.refusedUsers)
        let isTrusted = self.acceptedAt.map { now.timeIntervalSince($0) < Self.trust } ?? false
        if isTrusted || self.refusedUsers.count < Self.refusedUsersInARow { return self.recover() }
        // The others that were on their way are the same evidence.
        if self.pause?.cause == .devicesRefused, !self.isProbing { return }
        let words = "devices of \(Self.refusedUsersInARow) users in a row refused, none accepted: \(reason)"
        self.pause(.devicesRefused, words, isKnown: isKnown, now: now)
    }

    private mutating func pause(_ cause: Pause.Cause, _ reason: String, isKnown: Bool, now: Date) {
        let length = self.length(from: Self.pause, to: Self.longestPause, isKnown: isKnown)
        self.rest(cause, reason, until: now + length, now: now)
    }

    private mutating func rest(_ cause: Pause.Cause, _ reason: String, until date: Date, now: Date) {
        guard let pause = self.pause, !self.isProbing else {
            self.pause = Pause(cause, reason: reason, since: self.pause?.since ?? now, until: date)
            self.isProbing = false
            self.rests += 1
            return
        }
        // The others that were on their way are the same outage, unless they tell of something worse.
        let isWorse = cause.needsOperator && !pause.cause.needsOperator
        self.pause = Pause(
            isWorse ? cause : pause.cause,
            reason: isWorse ? reason : pause.reason,
            since: pause.since,
            until: max(pause.until, date)
        )
    }

    /// How long the next rest is. Addresses that anybody may have made up do not make it long for the others.
    private func length(from first: TimeInterval, to longest: TimeInterval, isKnown: Bool) -> TimeInterval {
        let bound = self.isProbing && !isKnown ? min(longest, Self.longestRestForNew) : longest
        // What was on its way does not make the rest that runs another one.
        let doublings = self.pause == nil || self.isProbing ? self.rests : self.rests - 1
        return min(first * pow(2, Double(min(doublings, 20))), bound)
    }

    private static func remember(_ user: Int64, in users: inout Set<Int64>) {
        if users.count < self.rememberedUsers { users.insert(user) }
    }
}
