/// The hosts that devices have named and that match only a wildcard, and whether they answer. This
/// type only decides whether a host may be called; its caller makes the calls.
///
/// A host that accepts requests and never answers keeps each call busy until the call's deadline.
/// Several such hosts could use up all calls of a lane (a provider's queue). Therefore the number
/// of concurrent calls to hosts that have not answered yet is limited. A host that has failed to
/// answer is not called for a while. This type does not limit calls to hosts that answer.
struct HostTrials: Sendable {
    enum Admission: Sendable, Hashable {
        /// The host may be called: it has answered before.
        case go
        /// The host may be called, but has not answered yet; the caller must report the end of the
        /// call with `endTrial`.
        case trial
        /// The first call to the host began only a moment ago; further calls must wait for the
        /// answer to it.
        case wait
        /// The host must not be called before this time has passed.
        case leaveAlone(Duration)
    }

    /// How long a host is not called after it has failed to answer.
    static let silentHostDelay = Duration.seconds(60)
    /// The time after which the caller may ask again, if calls to other hosts have reached the
    /// limit.
    static let delayWhenFull = Duration.seconds(1)
    /// How long further calls to a host wait for the answer to the first.
    static let timeout = Duration.milliseconds(500)
    /// If an answer took longer than this, the calls to its host stay limited: otherwise a host
    /// could keep all calls of a lane (a provider's queue) busy until just before their deadlines.
    static let slowAnswer = Duration.seconds(5)
    /// The largest number of hosts in `answering`, and in `silent`.
    static let rememberedHosts = 1000

    private struct Trial {
        let since: ContinuousClock.Instant
        var calls: Int
    }

    private let limit: Int
    private var calls = 0
    private var trials: [String: Trial] = [:]
    private var answering: Set<String> = []
    private var silent: [String: ContinuousClock.Instant] = [:]

    /// `limit` is the largest number of concurrent calls to hosts that have not answered yet.
    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// The number of hosts in `trials`, `answering` and `silent` together.
    var count: Int { self.trials.count + self.answering.count + self.silent.count }

    mutating func admit(_ host: String, now: ContinuousClock.Instant) -> Admission {
        if self.answering.contains(host) { return .go }
        if let until = self.silent[host], until > now { return .leaveAlone(now.duration(to: until)) }
        let trial = self.trials[host]
        // One host gets at most half of all concurrent trials.
        if let trial, trial.calls >= max(1, self.limit / 2) {
            let isYoung = trial.since.duration(to: now) < Self.timeout
            return isYoung ? .wait : .leaveAlone(Self.delayWhenFull)
        }
        guard self.calls < self.limit else { return .leaveAlone(Self.delayWhenFull) }
        self.calls += 1
        self.trials[host] = Trial(since: trial?.since ?? now, calls: (trial?.calls ?? 0) + 1)
        return .trial
    }

    /// Ends a call for which `admit` has returned `trial`, whatever the call's result is.
    mutating func endTrial(_ host: String) {
        self.calls -= 1
        guard let trial = self.trials[host], trial.calls > 1 else {
            self.trials[host] = nil
            return
        }
        self.trials[host] = Trial(since: trial.since, calls: trial.calls - 1)
    }

    /// Records that a host has answered, with any status, after the given time.
    mutating func recordAnswer(of host: String, after time: Duration = .zero) {
        self.silent[host] = nil
        guard time < Self.slowAnswer else {
            self.answering.remove(host)
            return
        }
        // An evicted host is added again after its next answer.
        if self.answering.count >= Self.rememberedHosts { self.answering.removeAll() }
        self.answering.insert(host)
    }

    /// Records a call to a host that had no answer. If the host has answered before, it may be
    /// called again at once, within the limit for hosts that have not answered yet.
    mutating func recordSilence(of host: String, now: ContinuousClock.Instant) {
        if self.answering.remove(host) != nil { return }
        if self.silent.count >= Self.rememberedHosts { self.silent = self.silent.filter { $0.value > now } }
        if self.silent.count < Self.rememberedHosts { self.silent[host] = now + Self.silentHostDelay }
    }
}
