internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// What the tasks of one lane share: leased pushes, the health of the provider, and what is still to be written down.
///
/// A lock, because each of the many workers needs it for a moment between two pushes.
final class LaneState: Sendable {
    /// What a worker is to do next.
    enum Step {
        case send(LeasedDelivery)
        /// Nothing is there to be sent, or nothing more may be under way.
        case stop
        /// Nothing may be sent before.
        case rest(until: Date)
    }

    private struct State {
        var direct: ArraySlice<LeasedDelivery> = []
        var bulk: ArraySlice<LeasedDelivery> = []
        var workers = 0
        /// Under way, or not yet written down.
        var inFlight = 0
        var ended: [(LeasedDelivery, Settlement)] = []
        /// When the first of those ended.
        var endedSince = ContinuousClock.now
        var isClaiming = false
        /// How many are being written down.
        var settling = 0
        var isSettling: Bool { self.settling > 0 }
        var isStopping = false
        var health = SenderHealth()
        /// The push that shows whether the provider is back.
        var probe: LeasedDelivery?
        var pacer: Pacer?
    }

    let lane: Lane
    private let state: Mutex<State>
    private let concurrency: Int
    private let bound: Int
    /// So many outcomes are worth a commit at once.
    private static let settleCount = 250

    init(_ lane: LaneSettings, inFlight: Int) {
        self.lane = lane.lane
        var state = State()
        state.pacer = lane.rate.map(Pacer.init)
        self.state = Mutex(state)
        self.concurrency = max(1, lane.concurrency)
        self.bound = max(inFlight, 1)
    }

    // MARK: - For the loop

    /// Why the lane rests, and whether an operator must act; `nil` while all is well.
    var trouble: SenderStatus.Trouble? {
        self.state.withLock { state in
            state.health.trouble.map { SenderStatus.Trouble(reason: $0, needsOperator: state.health.needsOperator) }
        }
    }

    /// Whether nothing is left that this lane must end.
    var isEmpty: Bool {
        self.state.withLock { $0.inFlight == 0 && $0.workers == 0 && !$0.isClaiming && !$0.isSettling }
    }

    /// Sends nothing that is not under way; what is leased is given back.
    func stop() {
        self.state.withLock { state in
            state.isStopping = true
            Self.giveBack(&state)
        }
    }

    func resetHealth() {
        self.state.withLock { state in
            state.health.reset()
            state.probe = nil
        }
    }

    /// Until when nothing may be sent, if so: what is leased is then given back.
    func beginRest(now: Date) -> Date? {
        self.state.withLock { state in
            guard case .rest(let until) = state.health.admission(now: now) else { return nil }
            Self.giveBack(&state)
            return until
        }
    }

    /// What to lease now of the queues that have something due; for a probe, one is enough.
    func beginClaim(of due: [Queue], batch: Int, now: Date) -> (limit: Int, queues: [Queue]) {
        self.state.withLock { state in
            if state.isStopping || state.isClaiming { return (0, []) }
            let leased = state.direct.count + state.bulk.count
            let (limit, queues): (Int, [Queue])
            switch state.health.admission(now: now) {
            case .rest, .wait: return (0, [])
            case .probe: (limit, queues) = (1, leased == 0 ? due : [])
            // Single notices pass what is leased of a broadcast.
            case .go: (limit, queues) = (batch, leased < batch / 2 ? due : due.filter { $0 == .direct })
            }
            if queues.isEmpty || state.direct.count >= batch { return (0, []) }
            state.isClaiming = true
            return (limit, queues)
        }
    }

    func endClaim(_ direct: [LeasedDelivery], _ bulk: [LeasedDelivery]) {
        self.state.withLock { state in
            state.isClaiming = false
            state.direct += direct
            state.bulk += bulk
            if state.isStopping { Self.giveBack(&state) }
        }
    }

    /// How many workers to start, which are counted as started.
    func beginWorkers(now: Date) -> Int {
        self.state.withLock { state in
            var room = min(self.concurrency - state.workers, self.bound - state.inFlight)
            switch state.health.admission(now: now) {
            case .go: break
            case .probe: room = min(room, 1)
            // They would find nothing to do, and have the loop look again.
            case .rest, .wait: room = 0
            }
            let count = max(0, min(room, state.direct.count + state.bulk.count))
            state.workers += count
            return count
        }
    }

    /// What is to be written down now: what has been gathered for that long, or is worth it by its number.
    func beginSettling(after patience: Duration) -> [(LeasedDelivery, Settlement)] {
        self.state.withLock { state in
            guard !state.isSettling, !state.ended.isEmpty else { return [] }
            let isDue = state.isStopping || state.ended.count >= Self.settleCount
            guard isDue || state.endedSince.duration(to: .now) >= patience else { return [] }
            state.settling = state.ended.count
            defer { state.ended.removeAll(keepingCapacity: true) }
            return state.ended
        }
    }

    /// How long until what has been gathered is to be written down; `nil` if nothing is, or the last is still at it.
    func untilSettling(after patience: Duration) -> Duration? {
        self.state.withLock { state in
            guard !state.isSettling, !state.ended.isEmpty else { return nil }
            return max(patience - state.endedSince.duration(to: .now), .zero)
        }
    }

    /// Takes in that they are written down, all but those that could not be: they are tried again, or, if the lane ends
    /// before, sent once more by the next process under the same ids.
    func endSettling(butKeeping kept: [(LeasedDelivery, Settlement)] = []) {
        self.state.withLock { state in
            state.inFlight -= state.settling - kept.count
            state.settling = 0
            state.ended.insert(contentsOf: kept, at: 0)
        }
    }

    // MARK: - For the workers

    func next(now: Date) -> Step {
        self.state.withLock { state in
            guard !state.isStopping, state.inFlight < self.bound else { return .stop }
            guard !state.direct.isEmpty || !state.bulk.isEmpty else { return .stop }
            if case .rest(let until) = state.health.admission(now: now) { return .rest(until: until) }
            if let until = state.pacer?.admit(now: now) { return .rest(until: until) }
            let admission = state.health.admit(now: now)
            if admission == .wait { return .stop }
            guard let delivery = state.direct.popFirst() ?? state.bulk.popFirst() else { return .stop }
            if admission == .probe { state.probe = delivery }
            state.inFlight += 1
            return .send(delivery)
        }
    }

    /// Takes in what is to be written down of a push that `next` gave out, sent or not; `true` if the loop must look at that.
    func end(_ delivery: LeasedDelivery, as settlement: Settlement) -> Bool {
        self.state.withLock { state in
            if state.probe == delivery {
                state.probe = nil
                state.health.endProbe()
            }
            if state.ended.isEmpty { state.endedSince = .now }
            state.ended.append((delivery, settlement))
            let isLow = !state.isClaiming && state.direct.isEmpty && state.bulk.isEmpty
            return isLow || (!state.isSettling && (state.ended.count == 1 || state.ended.count == Self.settleCount))
        }
    }

    func endWorker() {
        self.state.withLock { $0.workers -= 1 }
    }

    /// Takes in how sending a push ended, for the health of the provider; `jitter` is a random number from 0 to 1.
    ///
    /// Returns whether a device that the provider does not know may be taken for dead.
    func note(_ outcome: SendOutcome, of delivery: LeasedDelivery, now: Date, jitter: Double) -> Bool {
        self.state.withLock { state in
            state.health.note(outcome, user: delivery.user, now: now, jitter: jitter)
            return state.health.trustsUnknown
        }
    }

    // MARK: - Private

    private static func giveBack(_ state: inout State) {
        let unsent = state.direct + state.bulk
        if unsent.isEmpty { return }
        if state.ended.isEmpty { state.endedSince = .now }
        state.inFlight += unsent.count
        state.ended += unsent.map { ($0, .released) }
        state.direct = []
        state.bulk = []
    }
}
