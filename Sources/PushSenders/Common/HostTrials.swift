/// The hosts that devices have named under a wildcard, and whether they answer. It only decides;
/// its caller acts.
///
/// A host that accepts requests and never answers holds each call until its deadline. Several such
/// hosts could use up all calls of a lane. So there is a limit for all calls to hosts that have
/// not answered yet. A host that has failed to answer is not called for a while. Calls to hosts
/// that answer have no limit here.
struct HostTrials: Sendable {
    enum Admission: Sendable, Hashable {
        /// The host answers.
        case go
        /// The host has yet to answer; the caller reports the end of the call with `endTrial`.
        case trial
        /// The first call began only a moment ago; further calls wait for its answer.
        case wait
        /// The host must not be called before this time has passed.
        case leaveAlone(Duration)
    }

    /// How long a host is not called after it has failed to answer.
    static let silentHostDelay = Duration.seconds(60)
    /// How long a host is not called while calls to other hosts use up the limit.
    static let delayWhenFull = Duration.seconds(1)
    /// How long further calls to a host wait for the answer to the first.
    static let timeout = Duration.milliseconds(500)
    /// An answer that takes longer does not lift the limit of its host: otherwise a host could use
    /// up all calls, each until just before its deadline.
    static let slowAnswer = Duration.seconds(5)
    /// The largest number of hosts in each table.
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

    /// `limit`: the largest number of concurrent calls to hosts that have not answered.
    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// The number of hosts in all tables.
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

    /// Ends a call that `admit` has called a trial, whatever its result.
    mutating func endTrial(_ host: String) {
        self.calls -= 1
        guard let trial = self.trials[host], trial.calls > 1 else {
            self.trials[host] = nil
            return
        }
        self.trials[host] = Trial(since: trial.since, calls: trial.calls - 1)
    }

    /// Records an answer of any status, which took that time.
    mutating func recordAnswer(of host: String, after time: Duration = .zero) {
        self.silent[host] = nil
        guard time < Self.slowAnswer else {
            self.answering.remove(host)
            return
        }
        // An evicted host is known again after its next answer.
        if self.answering.count >= Self.rememberedHosts { self.answering.removeAll() }
        self.answering.insert(host)
    }

    /// Records a call without an answer. A host that has answered before may be tried again at
    /// once, within the limit.
    mutating func recordSilence(of host: String, now: ContinuousClock.Instant) {
        if self.answering.remove(host) != nil { return }
        if self.silent.count >= Self.rememberedHosts { self.silent = self.silent.filter { $0.value > now } }
        if self.silent.count < Self.rememberedHosts { self.silent[host] = now + Self.silentHostDelay }
    }
}
