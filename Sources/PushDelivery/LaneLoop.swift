internal import Foundation
internal import Logging
internal import PushCore
internal import PushStore
internal import ServiceLifecycle

/// The loop of one lane (the queue of pushes to one provider). It leases pushes, sends them and
/// stores the results; all three run concurrently.
struct LaneLoop: Sendable {
    /// The number of pushes that are leased at a time.
    private static let batch = 250
    /// The delay after a failure of the store: an immediate retry would most likely fail, too.
    private static let delayAfterFailure = Duration.seconds(1)
    /// While the store does not let this server send, the loop checks again after this delay. No
    /// signal reports that the server may send again.
    private static let delayWithoutStore = Duration.milliseconds(250)

    let lane: LaneSettings
    let store: any OutboxStore & DeviceStore
    let cluster: (any Cluster)?
    let reader: any StoreReader
    let settings: DeliverySettings
    /// Receives the settlements (outcomes of pushes) that are stored.
    let settlements: SettlementWatch
    /// The traces of pushes, for the log and for spans.
    let traces: RequestTraces
    let logger: Logger
    let now: @Sendable () -> Date
    /// The preferred executor of the senders' calls; `nil` if there is no preference.
    let executor: (any TaskExecutor)?
    let state: SharedLane
    /// Wakes the loops of other lanes if they have work.
    let wakeUp: WakeUp

    /// Is set when pushes are due, when a push or a write has ended, and at shutdown. The loop
    /// then checks the state again.
    let signal: Signal

    /// Runs the loop until graceful shutdown or cancellation. It then returns as soon as no push
    /// and no write is running any more.
    func run() async {
        await self.signal.signallingAtShutdown { await self.work() }
    }

    private func work() async {
        await withDiscardingTaskGroup { group in
            while true {
                if Task.isShuttingDownGracefully || Task.isCancelled, self.stop() { return }
                self.beginSettling(&group)
                let delay = await self.beginLeasing(&group)
                self.beginSending(&group)
                await self.signal.wait(atMost: max(min(delay, self.untilSettling ?? delay), .milliseconds(1)))
            }
        }
    }

    /// Makes the lane begin no further push. Returns whether no push, write or lease is running
    /// any more.
    private func stop() -> Bool {
        self.state.withLock { state in
            state.stop()
            return state.isEmpty
        }
    }

    func metadata(_ more: Logger.Metadata) -> Logger.Metadata {
        more.merging(["lane": "\(self.lane.lane)"]) { own, _ in own }
    }

    /// The fields of a line in the log about one push.
    func metadata(of delivery: LeasedDelivery, _ more: Logger.Metadata = [:]) -> Logger.Metadata {
        var fields = self.metadata(more)
        fields["notification"] = "\(delivery.push.notification)"
        if let trace = self.traces.trace(of: delivery.push.notification) { fields["trace"] = "\(trace.trace)" }
        return fields
    }

    // MARK: - Leasing

    /// Whether this server may send leased pushes at this moment. The loop checks this immediately
    /// before each push.
    var maySend: Bool { self.cluster.map { $0.lease.term != nil } ?? true }

    /// Begins to lease pushes if pushes are due and the lane's limit is not reached. Returns how
    /// long the loop may wait before it checks again.
    private func beginLeasing(_ group: inout DiscardingTaskGroup) async -> Duration {
        let now = self.now()
        guard self.maySend else {
            self.state.withLock { $0.release() }
            return Self.delayWithoutStore
        }
        if let until = self.state.withLock({ $0.releaseWhilePaused(now: now) }) { return self.delay(until: until, now) }
        let dates = await self.nextDue()
        let due = Queue.allCases.filter { queue in dates[queue].map { $0 <= now } ?? false }
        if due.isEmpty { return dates.values.min().map { self.delay(until: $0, now) } ?? self.pollInterval }
        let servers = self.state.withLock { $0.servers }
        let rate = self.lane.rate.map { max(1, $0 / servers) }
        let batch = min(Self.batch, rate ?? Self.batch, self.settings.inFlight)
        if let plan = self.state.withLock({ $0.beginLease(of: due, batch: batch, now: now) }) {
            group.addTask {
                await self.lease(plan)
                self.signal.set()
            }
        }
        return self.pollInterval
    }

    /// The time at which the next push of each queue is due; empty if the outbox cannot be read.
    private func nextDue() async -> [Queue: Date] {
        do {
            var dates: [Queue: Date] = [:]
            for queue in Queue.allCases {
                dates[queue] = try await self.reader.nextDue(in: self.lane.lane, queue)
            }
            return dates
        } catch {
            self.logger.report("outbox read failed; it is retried", error, self.metadata([:]))
            return [:]
        }
    }

    private var pollInterval: Duration { self.lane.pollInterval ?? self.settings.pollInterval }

    private func delay(until date: Date, _ now: Date) -> Duration {
        min(max(.zero, .seconds(date.timeIntervalSince(now))), self.pollInterval)
    }

    private func lease(_ plan: LaneState.LeasePlan) async {
        switch plan {
        case .batch(let limit, let queues):
            let leased = await self.lease(limit, from: queues)
            self.state.withLock { $0.endLease(leased) }
        case .probe(let choice):
            let probe = await self.leaseProbe(choice)
            self.state.withLock { $0.endLease(probe: probe) }
        }
    }

    private func lease(_ limit: Int, from queues: [Queue]) async -> [Queue: [LeasedDelivery]] {
        var leased: [Queue: [LeasedDelivery]] = [:]
        var left = limit
        do {
            for queue in queues where left > 0 {
                let request = LeaseRequest(
                    left,
                    from: self.lane.lane,
                    queue,
                    interval: self.lane.interval,
                    countsUnread: self.lane.countsUnread
                )
                let own = try await self.store.lease(request, now: self.now())
                leased[queue] = own
                left -= own.count
            }
        } catch {
            await self.waitAfterFailure(error)
        }
        return leased
    }

    private func leaseProbe(_ choice: ProbeChoice) async -> LeasedDelivery? {
        let (lane, now) = (self.lane.lane, self.now())
        do {
            guard let push = try await self.reader.probe(in: lane, choice, now: now) else { return nil }
            if let cluster, self.state.withLock({ $0.isPauseShared }), try await !cluster.acquireProbe(of: lane) {
                self.state.withLock { $0.postponeProbe(now: now) }
                return nil
            }
            return try await self.store.leaseProbe(push, from: lane, interval: self.lane.interval, now: now)
        } catch {
            await self.waitAfterFailure(error)
            return nil
        }
    }

    private func waitAfterFailure(_ error: any Error) async {
        self.logger.report("push lease failed; it is retried", error, self.metadata([:]))
        // The pushes are still due: without a delay, the loop would try again at once.
        // Cancellation ends the sleep early.
        try? await Task.sleep(for: Self.delayAfterFailure)
    }

    // MARK: - Settling

    private var untilSettling: Duration? {
        self.state.withLock { $0.untilSettling(after: self.settings.settleAfter) }
    }

    private func beginSettling(_ group: inout DiscardingTaskGroup) {
        let ended = self.state.withLock { $0.beginSettling(after: self.settings.settleAfter) }
        if ended.isEmpty { return }
        group.addTask {
            await self.settle(ended)
            self.signal.set()
        }
    }

    private func settle(_ ended: [PendingSettlements.Entry]) async {
        do {
            try await self.store.settle(ended, now: self.now())
            if ended.contains(where: { $0.1.isMove }) { self.wakeUp() }
            self.settlements.settled(ended.lazy.map(\.0.push.notification))
            self.state.withLock { $0.endSettling() }
        } catch {
            self.logger.report("push results not saved; they are saved later", error, self.metadata([:]))
            // Cancellation ends the sleep early.
            try? await Task.sleep(for: Self.delayAfterFailure)
            let kept = Task.isCancelled ? [] : ended
            self.state.withLock { $0.endSettling(butKeeping: kept) }
        }
    }
}
