internal import Foundation
internal import PushCore
internal import PushStore

/// The state of a lane: its leased pushes, its provider's health, and the results that are not
/// stored yet. It only decides what is done; the lane's loop and workers do it.
///
/// For the age of these results it uses the monotonic clock, because in tests `now` does not
/// advance.
struct LaneState: Sendable {
    /// The next step of a worker.
    enum Step {
        case send(LeasedDelivery)
        /// The worker must end: no push can be sent, or the limit of pushes in flight is reached.
        case stop
        /// No push may be sent before `until`.
        case delay(until: Date)
    }

    /// The pushes that must be leased.
    enum LeasePlan: Sendable, Hashable {
        /// Up to this number of pushes, from these queues in this order.
        case batch(Int, [Queue])
        case probe(ProbeChoice)
    }

    private let concurrency: Int
    private let limit: Int
    var leased = LeasedPushes()
    /// The push that was leased as a probe, to test whether the provider has recovered, and that
    /// is not sent yet.
    private var candidate: LeasedDelivery?
    private var isLeasing = false
    private var workers = 0
    /// The number of pushes that workers are sending now.
    private var underWay = 0
    private var settlements = PendingSettlements()
    private var isStopping = false
    var health: SenderHealth
    /// The probe that is being sent: its result shows whether the provider has recovered.
    private var probe: LeasedDelivery?
    var pacer: Pacer?
    private var events: [HealthEvent] = []
    /// The number of pauses by cause; a pause whose cause changes counts once for each cause.
    private(set) var pauses: [Pause.Cause: Int] = [:]
    /// The number of retries scheduled so far. A push that waits until its device connects is not
    /// counted.
    private(set) var retries = 0
    /// The number of servers that share the lane's rate, including this server.
    var servers = 1
    /// The delay that the provider has requested; `nil` as soon as the other servers know it.
    var unreportedDelay: (until: Date, reason: String)?
    /// Identifies the delay from another server that this server has applied last.
    var observedDelay: Int64?
    /// This server's pause as the other servers know it; `nil` if they do not know of it.
    var sharedPause: Pause?
    /// Identifies the report of a pause from another server that this server has applied last.
    var observedPause: Int64?
    /// The time at which another server's probe last ended a pause of this server.
    var leftAt: Date?

    init(_ settings: LaneSettings, inFlight: Int) {
        self.concurrency = max(1, settings.concurrency)
        self.limit = max(1, inFlight)
        self.pacer = settings.rate.map(Pacer.init)
        self.health = SenderHealth(hasUnrelatedHosts: settings.hasUnrelatedHosts)
    }

    /// The number of pushes that are being sent or whose results are not stored yet.
    var inFlight: Int { self.underWay + self.settlements.count }

    // MARK: - The lane as a whole

    /// The current pause of the lane; `nil` while the lane is not paused.
    var pause: Pause? { self.health.pause }

    /// Whether a device that the provider does not know may be moved to the platform's other
    /// environment.
    ///
    /// No device may be moved while the lane is paused because the provider refuses the devices of
    /// all users: the fault is then the server's, and all devices would be moved.
    var mayMoveDevices: Bool { self.pause?.cause != .devicesRefused }

    /// Whether no push, worker or lease of the lane is running any more.
    var isEmpty: Bool { self.inFlight == 0 && self.workers == 0 && !self.isLeasing }

    /// Makes the lane begin no further push, and releases its leased pushes.
    mutating func stop() {
        self.isStopping = true
        self.giveBackAll()
    }

    mutating func resetHealth() {
        let event = self.health.reset()
        self.record(event)
        self.probe = nil
        // This server no longer shares the pause: it may have new credentials, while other servers
        // still have those that failed.
        self.sharedPause = nil
        self.leftAt = nil
    }

    /// Removes and returns the events that an operator must know about.
    mutating func takeEvents() -> [HealthEvent] {
        // Fast path: this function is called for each push, and there is hardly ever an event.
        if self.events.isEmpty { return [] }
        defer { self.events.removeAll() }
        return self.events
    }

    /// The time before which no push may be sent; `nil` if pushes may be sent now. While the lane
    /// is paused, releases its leased pushes, so that the probe (the push that
    /// tests the provider) is chosen among all due pushes.
    mutating func releaseWhilePaused(now: Date) -> Date? {
        switch self.health.admission(now: now) {
        case .go: return nil
        case .probe, .wait:
            self.giveBackLeased()
            return nil
        case .delay(let until):
            self.giveBackAll()
            return until
        }
    }

    /// Releases all leased pushes. Also releases `delivery`, a push that `next` has returned to a
    /// worker, but that must no longer be sent.
    mutating func release(_ delivery: LeasedDelivery? = nil) {
        if let delivery { _ = self.end(delivery, as: .released) }
        self.giveBackAll()
    }

    // MARK: - Leasing

    /// The pushes to lease now from the queues with due pushes; `nil` if no push must be leased
    /// now.
    mutating func beginLease(of due: [Queue], batch: Int, now: Date) -> LeasePlan? {
        if self.isStopping || self.isLeasing { return nil }
        let plan: LeasePlan
        switch self.health.admission(now: now) {
        case .delay, .wait: return nil
        case .probe:
            if due.isEmpty || self.candidate != nil { return nil }
            plan = .probe(self.health.probeChoice)
        case .go:
            let wanted = self.leased.wanted(of: due, batch: batch)
            if wanted.isEmpty { return nil }
            plan = .batch(batch, wanted)
        }
        self.isLeasing = true
        return plan
    }

    mutating func endLease(_ leased: [Queue: [LeasedDelivery]]) {
        self.isLeasing = false
        self.leased.add(leased)
        if self.isStopping { self.giveBackAll() }
    }

    /// Records that the search for a probe has ended. If the search has leased a push, that push
    /// is sent next.
    mutating func endLease(probe: LeasedDelivery?) {
        self.isLeasing = false
        self.candidate = probe
        if self.isStopping { self.giveBackAll() }
    }

    // MARK: - Sending

    /// The number of workers that the caller must start. They count as started from now on.
    mutating func beginWorkers(now: Date) -> Int {
        let work = self.sendable(now: now)
        let count = max(0, min(self.concurrency - self.workers, self.limit - self.inFlight, work))
        self.workers += count
        return count
    }

    mutating func endWorker() {
        self.workers -= 1
    }

    /// The next step of a worker. If it is to send a push, the push counts as in flight until
    /// `end` is called.
    mutating func next(now: Date) -> Step {
        if self.isStopping || self.inFlight >= self.limit { return .stop }
        if self.leased.isEmpty, self.candidate == nil { return .stop }
        if case .delay(let until) = self.health.admission(now: now) { return .delay(until: until) }
        if self.sendable(now: now) == 0 { return .stop }
        if let until = self.pacer?.admit(now: now) { return .delay(until: until) }
        let admission = self.health.admit(now: now)
        guard let delivery = self.candidate.take() ?? self.leased.popFirst() else { return .stop }
        if admission == .probe { self.probe = delivery }
        self.underWay += 1
        return .send(delivery)
    }

    /// Records the outcome of a push in the provider's health; `jitter` is a random number from 0
    /// to 1.
    ///
    /// Returns who is at fault if the provider does not know the device: the device or the server.
    mutating func record(_ outcome: SendOutcome, of delivery: LeasedDelivery, now: Date, jitter: Double) -> Blame {
        let event = self.health.record(
            outcome,
            user: delivery.user,
            isKnown: delivery.isAddressKnown,
            isRepeated: delivery.state.attempts > 1,
            now: now,
            jitter: jitter
        )
        self.record(event)
        if case .failure(.overloaded(let reason, _)) = outcome, let pause = self.pause {
            self.unreportedDelay = (pause.until, reason)
        }
        if case .resumed = event { self.pacer?.beginRise(now: now) }
        if case .failure(.deviceGone) = outcome { return self.health.blameForGone }
        return self.health.blame
    }

    /// Records the settlement of a push that `next` returned, whether it was sent or not. Returns
    /// whether the loop must wake up now.
    mutating func end(_ delivery: LeasedDelivery, as settlement: Settlement) -> Bool {
        if self.probe == delivery {
            self.probe = nil
            self.health.endProbe()
        }
        self.underWay -= 1
        if case .retried = settlement { self.retries += 1 }
        self.settlements.add([(delivery, settlement)], at: .now)
        let mustLease = !self.isLeasing && self.leased.isEmpty
        return mustLease || self.settlements.isNews
    }

    // MARK: - Writing down

    /// The settlements that the caller must store now; empty unless they are old or numerous
    /// enough.
    mutating func beginSettling(after delay: Duration) -> [PendingSettlements.Entry] {
        self.settlements.beginWriting(after: self.isStopping ? .zero : delay, at: .now)
    }

    /// The time until the gathered settlements are due; `nil` if no settlements are gathered, or
    /// while a write of settlements is running.
    func untilSettling(after delay: Duration) -> Duration? {
        self.settlements.untilDue(after: delay, at: .now)
    }

    /// Ends a write of settlements. Settlements that could not be stored are kept and retried; if
    /// the process ends before that, the next process sends their pushes again with the same ids.
    mutating func endSettling(butKeeping kept: [PendingSettlements.Entry] = []) {
        self.settlements.endWriting(butKeeping: kept)
    }

    // MARK: - Private

    /// The number of leased pushes that may be sent now.
    private func sendable(now: Date) -> Int {
        switch self.health.admission(now: now) {
        case .go: self.leased.count + (self.candidate == nil ? 0 : 1)
        case .probe: self.candidate == nil ? 0 : 1
        case .delay, .wait: 0
        }
    }

    mutating func record(_ event: HealthEvent?) {
        guard let event else { return }
        self.events.append(event)
        switch event {
        case .paused(let pause): self.pauses[pause.cause, default: 0] += 1
        // The metric counts pauses by cause. A pause that continues with the same cause and
        // another reason text is not counted again.
        case .changed(let old, let new): if new.cause != old.cause { self.pauses[new.cause, default: 0] += 1 }
        case .prolonged, .resumed, .doubted, .kindRefused, .manyGone: break
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
