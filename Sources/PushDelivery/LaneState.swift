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

    /// What to lease.
    enum Claim: Sendable, Hashable {
        /// So many pushes, of these queues in this order.
        case batch(Int, [Queue])
        case probe(ProbeChoice)
    }

    private let concurrency: Int
    private let bound: Int
    private var leased = LeasedPushes()
    /// The push that was leased to be a probe.
    private var candidate: LeasedDelivery?
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
    private var events: [HealthEvent] = []
    /// How many pauses there have been; one whose cause changed is one of either cause.
    private(set) var pauses: [Pause.Cause: Int] = [:]

    init(_ settings: LaneSettings, inFlight: Int) {
        self.concurrency = max(1, settings.concurrency)
        self.bound = max(1, inFlight)
        self.pacer = settings.rate.map(Pacer.init)
    }

    /// Under way, or not yet written down.
    private var inFlight: Int { self.underWay + self.settlements.count }

    // MARK: - The lane as a whole

    /// The pause that the lane is in; `nil` while all is well.
    var pause: Pause? { self.health.pause }

    /// Whether nothing is left that this lane must end.
    var isEmpty: Bool { self.inFlight == 0 && self.workers == 0 && !self.isClaiming }

    /// Sends nothing that is not under way; what is leased is given back.
    mutating func stop() {
        self.isStopping = true
        self.giveBackAll()
    }

    mutating func resetHealth() {
        let event = self.health.reset()
        self.note(event)
        self.probe = nil
    }

    /// Takes out what an operator must know.
    mutating func takeEvents() -> [HealthEvent] {
        // Asked with each push, and hardly ever anything.
        if self.events.isEmpty { return [] }
        defer { self.events.removeAll() }
        return self.events
    }

    /// Until when nothing may be sent, if so. While the lane is paused, what is leased is given back: a probe is chosen
    /// among all that is due.
    mutating func beginRest(now: Date) -> Date? {
        switch self.health.admission(now: now) {
        case .go: return nil
        case .probe, .wait:
            self.giveBackLeased()
            return nil
        case .rest(let until):
            self.giveBackAll()
            return until
        }
    }

    // MARK: - Leasing

    /// What to lease now of the queues that have something due, if anything.
    mutating func beginClaim(of due: [Queue], batch: Int, now: Date) -> Claim? {
        if self.isStopping || self.isClaiming { return nil }
        let claim: Claim
        switch self.health.admission(now: now) {
        case .rest, .wait: return nil
        case .probe:
            if due.isEmpty || self.candidate != nil { return nil }
            claim = .probe(self.health.probeChoice)
        case .go:
            let wanted = self.leased.wanted(of: due, batch: batch)
            if wanted.isEmpty { return nil }
            claim = .batch(batch, wanted)
        }
        self.isClaiming = true
        return claim
    }

    mutating func endClaim(_ leased: [Queue: [LeasedDelivery]]) {
        self.isClaiming = false
        self.leased.add(leased)
        if self.isStopping { self.giveBackAll() }
    }

    /// Takes in the push that is to be the probe, if there is one.
    mutating func endClaim(probe: LeasedDelivery?) {
        self.isClaiming = false
        self.candidate = probe
        if self.isStopping { self.giveBackAll() }
    }

    // MARK: - Sending

    /// How many workers to start, which are counted as started.
    mutating func beginWorkers(now: Date) -> Int {
        let work = self.sendable(now: now)
        let count = max(0, min(self.concurrency - self.workers, self.bound - self.inFlight, work))
        self.workers += count
        return count
    }

    mutating func endWorker() {
        self.workers -= 1
    }

    /// What a worker is to do; a push that it gives out is under way until `end`.
    mutating func next(now: Date) -> Step {
        if self.isStopping || self.inFlight >= self.bound { return .stop }
        if self.leased.isEmpty, self.candidate == nil { return .stop }
        if case .rest(let until) = self.health.admission(now: now) { return .rest(until: until) }
        if self.sendable(now: now) == 0 { return .stop }
        if let until = self.pacer?.admit(now: now) { return .rest(until: until) }
        let admission = self.health.admit(now: now)
        guard let delivery = self.candidate.take() ?? self.leased.popFirst() else { return .stop }
        if admission == .probe { self.probe = delivery }
        self.underWay += 1
        return .send(delivery)
    }

    /// Takes in how sending a push ended, for the health of the provider; `jitter` is a random number from 0 to 1.
    ///
    /// Returns who is to blame if the provider does not know the device.
    mutating func note(_ outcome: SendOutcome, of delivery: LeasedDelivery, now: Date, jitter: Double) -> Blame {
        let event = self.health.note(
            outcome,
            user: delivery.user,
            isKnown: delivery.isAddressKnown,
            now: now,
            jitter: jitter
        )
        self.note(event)
        return self.health.blame
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

    /// How many of the leased pushes may be sent now.
    private func sendable(now: Date) -> Int {
        switch self.health.admission(now: now) {
        case .go: self.leased.count + (self.candidate == nil ? 0 : 1)
        case .probe: self.candidate == nil ? 0 : 1
        case .rest, .wait: 0
        }
    }

    private mutating func note(_ event: HealthEvent?) {
        guard let event else { return }
        self.events.append(event)
        switch event {
        case .paused(let pause): self.pauses[pause.cause, default: 0] += 1
        // Other words for the same are no other pause.
        case .changed(let old, let new): if new.cause != old.cause { self.pauses[new.cause, default: 0] += 1 }
        case .prolonged, .resumed, .doubted: break
        }
    }

    private mutating func giveBackAll() {
        self.giveBackLeased()
        if let candidate = self.candidate.take() { self.settlements.add([(candidate, .released)], at: .now) }
    }

    private mutating func giveBackLeased() {
        self.settlements.add(self.leased.takeAll().map { ($0, .released) }, at: .now)
    }
}
