internal import Foundation
internal import Logging
internal import PushCore
internal import PushStore
internal import ServiceLifecycle

/// The loop of one lane: has pushes leased, sent and written down, all three at the same time.
struct LaneLoop: Sendable {
    /// Pushes that are leased at a time.
    private static let batch = 250

    let lane: LaneSettings
    let store: Store
    let reader: Reader
    let settings: DeliverySettings
    /// Learns what is written down.
    let settlements: SettlementWatch
    let logger: Logger
    let now: @Sendable () -> Date
    /// Where the calls run; `nil`: anywhere.
    let executor: (any TaskExecutor)?
    let state: LaneState

    /// Work to do, something that ended, shutdown: whatever happens rings this bell, and the loop looks around anew.
    let signal: Signal

    /// Works until graceful shutdown or cancellation; returns when nothing is on the way any more.
    func run() async {
        await self.signal.signallingAtShutdown { await self.work() }
    }

    private func work() async {
        await withDiscardingTaskGroup { group in
            while true {
                if Task.isShuttingDownGracefully || Task.isCancelled {
                    self.state.stop()
                    if self.state.isEmpty { return }
                }
                self.settleWhatEnded(&group)
                let rest = self.claim(&group)
                for _ in 0..<self.state.beginWorkers(now: self.now()) {
                    group.addTask(executorPreference: self.executor) { await self.sendOneByOne() }
                }
                let settling = self.state.untilSettling(after: self.settings.settleAfter)
                await self.signal.wait(atMost: max(min(rest, settling ?? rest), .milliseconds(1)))
            }
        }
    }

    // MARK: - Leasing

    /// Has pushes leased, if there are any to be had and there is need; returns how long nothing will be due.
    private func claim(_ group: inout DiscardingTaskGroup) -> Duration {
        let now = self.now()
        if let until = self.state.beginRest(now: now) { return min(self.untilDue(until, now), self.settings.rest) }
        let batch = min(Self.batch, self.lane.rate ?? Self.batch, self.settings.inFlight)
        do {
            let direct = self.untilDue(try self.reader.nextDue(in: self.lane.lane, .direct), now)
            let bulk = self.untilDue(try self.reader.nextDue(in: self.lane.lane, .bulk), now)
            let due = Queue.allCases.filter { ($0 == .direct ? direct : bulk) <= .zero }
            if due.isEmpty { return min(direct, bulk, self.settings.rest) }
            let claim = self.state.beginClaim(of: due, batch: batch, now: now)
            if claim.queues.isEmpty { return self.settings.rest }
            group.addTask {
                await self.claim(claim.limit, of: claim.queues)
                self.signal.set()
            }
        } catch {
            self.logger.error("outbox read failed; it is retried", metadata: self.metadata(["error": "\(error)"]))
        }
        return self.settings.rest
    }

    private func claim(_ limit: Int, of queues: [Queue]) async {
        var leased: [Queue: [LeasedDelivery]] = [:]
        var left = limit
        do {
            for queue in queues where left > 0 {
                let claim = Store.Claim(left, from: self.lane.lane, queue, interval: self.lane.interval)
                let own = try await self.store.claim(claim, now: self.now())
                leased[queue] = own
                left -= own.count
            }
        } catch {
            self.logger.report("push lease failed; it is retried", error, self.metadata([:]))
            // What is due stays due: without a rest the loop would ask again at once. Ended early by cancellation.
            try? await Task.sleep(for: .seconds(1))
        }
        self.state.endClaim(leased[.direct] ?? [], leased[.bulk] ?? [])
    }

    private func untilDue(_ due: Date?, _ now: Date) -> Duration {
        due.map { max(.zero, .seconds($0.timeIntervalSince(now))) } ?? self.settings.rest
    }

    // MARK: - Sending

    /// Sends one push after the other, as long as there are any and the provider may be called.
    private func sendOneByOne() async {
        while true {
            switch self.state.next(now: self.now()) {
            case .send(let delivery):
                let settlement = await self.send(delivery)
                if self.state.end(delivery, as: settlement) { self.signal.set() }
            case .stop:
                self.state.endWorker()
                return self.signal.set()
            case .rest(let until):
                let wait = until.timeIntervalSince(self.now())
                // The others wait in the same way; longer rests are the loop's.
                if wait <= 1, (try? await Task.sleep(for: .seconds(max(0, wait)))) != nil { continue }
                self.state.endWorker()
                return self.signal.set()
            }
        }
    }

    /// Sends one push, unless it has expired since it was leased; returns what is to be written down.
    private func send(_ delivery: LeasedDelivery) async -> Settlement {
        let sentAt = self.now()
        if delivery.state.isExpired(now: sentAt) { return .expired }
        let outcome = await self.lane.sender.outcome(of: delivery.push)
        let now = self.now()
        // Asked of the kernel, and so only where there may be a wait.
        let jitter: Double = if case .success = outcome { 0 } else { .random(in: 0...1) }
        let trustsUnknown = self.state.note(outcome, of: delivery, now: now, jitter: jitter)
        if case .failure(let failure) = outcome {
            self.log(failure)
            if let since = failure.retirement(sentAt: sentAt, trustsUnknown: trustsUnknown) {
                await self.retire(delivery, reason: failure.reason, since: since)
            }
        }
        return delivery.state.settlement(of: outcome, now: now, jitter: jitter)
    }

    private func log(_ failure: SendFailure) {
        // A device that is not connected is no failure.
        if case .offline = failure { return }
        self.logger.debug("push not accepted", metadata: self.metadata(["reason": "\(failure.reason)"]))
    }

    private func retire(_ delivery: LeasedDelivery, reason: String, since: Date) async {
        do {
            let isRetired = try await self.store.retire(
                device: delivery.device,
                handle: delivery.push.handle,
                in: self.lane.lane,
                reason: reason,
                since: since,
                now: self.now()
            )
            if isRetired { self.logger.info("device retired", metadata: self.metadata(["reason": "\(reason)"])) }
        } catch {
            // The next push to it tells the same.
            self.logger.report(
                "device retirement failed; the next push to the device retries",
                error,
                self.metadata([:])
            )
        }
    }

    // MARK: - Writing down

    private func settleWhatEnded(_ group: inout DiscardingTaskGroup) {
        let ended = self.state.beginSettling(after: self.settings.settleAfter)
        if ended.isEmpty { return }
        group.addTask {
            do {
                try await self.store.settle(ended, now: self.now())
                self.settlements.settled(ended.lazy.map(\.0.push.notification))
                self.state.endSettling()
            } catch {
                self.logger.report("push results not saved; they are saved later", error, self.metadata([:]))
                // Ended early by cancellation.
                try? await Task.sleep(for: .seconds(1))
                self.state.endSettling(butKeeping: Task.isCancelled ? [] : ended)
            }
            self.signal.set()
        }
    }

    private func metadata(_ more: Logger.Metadata) -> Logger.Metadata {
        more.merging(["lane": "\(self.lane.lane)"]) { own, _ in own }
    }
}
