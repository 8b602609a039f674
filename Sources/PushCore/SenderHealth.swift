package import Foundation

/// Whether a provider may be called, after what it has answered so far: a circuit breaker. Decides; does nothing.
///
/// It rests when the provider asks for that, when nothing gets through, and when our credentials are refused; after the
/// rest one push goes first, and the others follow only if the provider takes notice of it.
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
    /// The first rest of an outage; each later one is twice as long, up to `longestRest`.
    package static let firstRest: TimeInterval = 1
    package static let longestRest: TimeInterval = 300
    /// The first rest after refused credentials.
    package static let pause: TimeInterval = 60
    package static let longestPause: TimeInterval = 900
    /// From so many unknown devices on, the share of them tells whether ours is the mistake.
    package static let suspiciousCount = 20
    /// Of one unknown device, so many others must have been reached.
    package static let reachedForEachUnknown = 4
    private static let memory: TimeInterval = 3600

    private enum State {
        case well
        case resting(until: Date)
        case probing
    }

    /// Why it rests, in the provider's words; `nil` while all is well.
    package private(set) var trouble: String?
    /// Whether it rests because of what an operator must mend.
    package private(set) var needsOperator = false
    private var state = State.well
    private var failures = 0
    private var busyUsers: Set<Int64> = []
    private var rests = 0
    private var reached = 0
    private var unknown = 0
    private var countedSince = Date.distantPast

    package init() {}

    /// Whether a push may go now. Who is told `probe` reports its answer with `note`, and its end, whatever it was, with
    /// `endProbe`.
    package mutating func admit(now: Date) -> Admission {
        switch self.state {
        case .well: return .go
        case .probing: return .wait
        case .resting(let until):
            if until > now { return .rest(until: until) }
            self.state = .probing
            return .probe
        }
    }

    /// What `admit` would say, without beginning a probe.
    package func admission(now: Date) -> Admission {
        var copy = self
        return copy.admit(now: now)
    }

    /// Whether a device that the provider does not know may be taken for dead: others have been reached meanwhile.
    package var trustsUnknown: Bool { self.reached >= self.unknown * Self.reachedForEachUnknown }

    /// Takes in how a call for a device of `user` ended; `jitter` is a random number from 0 to 1.
    package mutating func note(_ outcome: SendOutcome, user: Int64, now: Date, jitter: Double) {
        self.forgetIfDue(now)
        switch outcome {
        case .success:
            self.reached += 1
            self.recover()
        // No, but an answer of a provider that is well.
        case .failure(.rejected), .failure(.deviceGone), .failure(.offline): self.recover()
        case .failure(.deviceUnknown(let reason)): self.suspect(reason, now: now)
        case .failure(.deviceBusy(let reason, let retryAfter)):
            self.busyUsers.insert(user)
            guard self.isProbing || self.busyUsers.count >= Self.busyUsersInARow else { return }
            self.rest(until: now + retryAfter.timeInterval, reason)
        case .failure(.overloaded(let reason, let retryAfter)):
            self.rest(until: now + retryAfter.timeInterval, reason)
        case .failure(.unavailable(let reason, _)):
            self.failures += 1
            guard self.isProbing || self.failures >= Self.failuresInARow else { return }
            let longest = min(Self.firstRest * pow(2, Double(min(self.rests, 20))), Self.longestRest)
            self.rest(until: now + max(longest * jitter, Self.firstRest / 2), reason)
        case .failure(.misconfigured(let reason)), .failure(.credentialExpired(let reason)):
            self.pause(reason, now: now)
        }
    }

    /// Takes in that the probe has ended. Without an answer it has shown nothing, and another goes in its place.
    package mutating func endProbe() {
        if self.isProbing { self.state = .resting(until: .distantPast) }
    }

    /// Forgets all trouble, as after new credentials.
    package mutating func reset() {
        self = SenderHealth()
    }

    // MARK: - Private

    private var isProbing: Bool { if case .probing = self.state { true } else { false } }

    private mutating func recover() {
        self.failures = 0
        self.busyUsers.removeAll()
        // What was on its way when the rest began does not end it.
        if case .resting = self.state { return }
        self.state = .well
        self.rests = 0
        self.trouble = nil
        self.needsOperator = false
    }

    private mutating func suspect(_ reason: String, now: Date) {
        self.unknown += 1
        if self.unknown >= Self.suspiciousCount, !self.trustsUnknown {
            self.pause("\(self.unknown) devices refused, \(self.reached) reached: \(reason)", now: now)
        } else {
            self.recover()
        }
    }

    private mutating func pause(_ reason: String, now: Date) {
        self.needsOperator = true
        let length = min(Self.pause * pow(2, Double(min(self.rests, 20))), Self.longestPause)
        self.rest(until: now + length, reason)
    }

    private mutating func rest(until date: Date, _ reason: String) {
        self.trouble = reason
        if case .resting(let until) = self.state {
            // The others that were on their way are the same outage.
            self.state = .resting(until: max(until, date))
        } else {
            self.state = .resting(until: date)
            self.rests += 1
        }
    }

    private mutating func forgetIfDue(_ now: Date) {
        guard now.timeIntervalSince(self.countedSince) > Self.memory else { return }
        self.countedSince = now
        self.reached /= 2
        self.unknown /= 2
    }
}
