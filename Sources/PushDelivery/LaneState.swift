internal import Foundation
internal import PushCore
internal import PushStore

/// Where a lane stands: what it has leased, how its provider is, and what is still to be written down. Decides; does
/// nothing.
///
/// Only how long settlements have been gathered is measured here, by the monotonic clock: tests have `now` stand.
struct LaneState: Sendable {
    /// What a worker is to do next.
    enum Step {
        case send(LeasedDelivery)
        /// Nothing is there to be sent, or nothing more may be under way.
        case stop
        /// Nothing may be sent before.
        case rest(until: Date)
    }

    /// So many pushes to lease, of these queues in this order.
    struct Claim: Sendable, Hashable {
        let limit: Int
        let queues: [Queue]
    }

    private let concurrency: Int
    private let bound: Int
    private var leased = LeasedPushes()
    private var isClaiming = false
    private var workers = 0
    /// With workers.
    private var underWay = 0
    private var settlements = PendingSettlements()
    private var isStopping = false
    private var health = SenderHealth()
    /// The push that shows whether the provider is back.
    private var probe: LeasedDelivery?
    private var pacer: Pacer?

    init(_ settings: LaneSettings, inFlight: Int) {
        self.concurrency = max(1, settings.concurrency)
        self.bound = max(1, inFlight)
        self.pacer = settings.rate.map(Pacer.init)
    }

    /// Under way, or not yet written down.
    private var inFlight: Int { self.underWay + self.settlements.count }

    // MARK: - The lane as a whole

    /// Why the lane is paused, and whether an operator must act; `nil` while all is well.
    var trouble: SenderStatus.Trouble? {
        self.health.trouble.map { SenderStatus.Trouble(reason: $0, needsOperator: self.health.needsOperator) }
    }

    /// Whether nothing is left that this lane must end.
    var isEmpty: Bool { self.inFlight == 0 && self.workers == 0 && !self.isClaiming }

    /// Sends nothing that is not under way; what is leased is given back.
    mutating func stop() {
        self.isStopping = true
        self.giveBack()
    }

    mutating func resetHealth() {
        self.health.reset()
        self.probe = nil
    }

    /// Until when nothing may be sent, if so: what is leased is then given back.
    mutating func beginRest(now: Date) -> Date? {
        guard case .rest(let until) = self.health.admission(now: now) else { return nil }
        self.giveBack()
        return until
    }

    // MARK: - Leasing

    /// What to lease now of the queues that have something due, if anything; for a probe, one is enough.
    mutating func beginClaim(of due: [Queue], batch: Int, now: Date) -> Claim? {
        if self.isStopping || self.isClaiming { return nil }
        let claim: Claim
        switch self.health.admission(now: now) {
        case .rest, .wait: return nil
        case .probe: claim = Claim(limit: 1, queues: self.leased.isEmpty ? due : [])
        case .go: claim = Claim(limit: batch, queues: self.leased.wanted(of: due, batch: batch))
        }
        if claim.queues.isEmpty { return nil }
        self.isClaiming = true
        return claim
    }

    mutating func endClaim(_ leased: [Queue: [LeasedDelivery]]) {
        self.isClaiming = false
        self.leased.add(leased)
        if self.isStopping { self.giveBack() }
    }

    // MARK: - Sending

    /// How many workers to start, which are counted as started.
    mutating func beginWorkers(now: Date) -> Int {
        let room: Int
        switch self.health.admission(now: now) {
        case .go: room = self.concurrency - self.workers
        case .probe: room = min(1, self.concurrency - self.workers)
        // They would find nothing to do, and have the loop look again.
        case .rest, .wait: room = 0
        }
        let count = max(0, min(room, self.bound - self.inFlight, self.leased.count))
        self.workers += count
        return count
    }

    mutating func endWorker() {
        self.workers -= 1
    }

    /// What a worker is to do; a push that it gives out is under way until `end`.
    mutating func next(now: Date) -> Step {
        if self.isStopping || self.inFlight >= self.bound || self.leased.isEmpty { return .stop }
        if case .rest(let until) = self.health.admission(now: now) { return .rest(until: until) }
        if let until = self.pacer?.admit(now: now) { return .rest(until: until) }
        let admission = self.health.admit(now: now)
        guard admission != .wait, let delivery = self.leased.popFirst() else { return .stop }
        if admission == .probe { self.probe = delivery }
        self.underWay += 1
        return .send(delivery)
    }

    /// Takes in how sending a push ended, for the health of the provider; `jitter` is a random number from 0 to 1.
    ///
    /// Returns whether a device that the provider does not know may be taken for dead.
    mutating func note(_ outcome: SendOutcome, of delivery: LeasedDelivery, now: Date, jitter: Double) -> Bool {
        self.health.note(outcome, user: delivery.user, now: now, jitter: jitter)
        return self.health.trustsUnknown
    }

    /// Takes in the settlement of a push that `next` gave out, sent or not; `true` if the loop must look at
    /// that.
    mutating func end(_ delivery: LeasedDelivery, as settlement: Settlement) -> Bool {
        if self.probe == delivery {
            self.probe = nil
            self.health.endProbe()
        }
        self.underWay -= 1
        self.settlements.add([(delivery, settlement)], at: .now)
        let mustClaim = !self.isClaiming && self.leased.isEmpty
        return mustClaim || self.settlements.isNews
    }

    // MARK: - Writing down

    /// The settlements that are due: gathered for that long, or many enough.
    mutating func beginSettling(after patience: Duration) -> [PendingSettlements.Entry] {
        self.settlements.beginWriting(after: self.isStopping ? .zero : patience, at: .now)
    }

    /// How long until the gathered settlements are due; `nil` if there are none, or the last write still runs.
    func untilSettling(after patience: Duration) -> Duration? {
        self.settlements.untilDue(after: patience, at: .now)
    }

    /// Takes in that they are written down, all but those that could not be: they are tried again, or, if the lane ends
    /// before, sent once more by the next process under the same ids.
    mutating func endSettling(butKeeping kept: [PendingSettlements.Entry] = []) {
        self.settlements.endWriting(butKeeping: kept)
    }

    // MARK: - Private

    private mutating func giveBack() {
        self.settlements.add(self.leased.takeAll().map { ($0, .released) }, at: .now)
    }
}
