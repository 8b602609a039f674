internal import Foundation
internal import Logging
internal import PushCore
internal import PushStore
internal import ServiceLifecycle
internal import Synchronization

/// The loop of one sender.
struct SenderLoop: Sendable {
    let platform: Platform
    let sender: any PushSender
    let store: Store
    let reader: Reader
    let settings: DeliverySettings
    let status: SenderStatus
    let logger: Logger
    let now: @Sendable () -> Date

    /// Work to do, a push that ended, shutdown: whatever happens rings this bell, and the loop looks around anew.
    let signal: Signal

    /// Works until graceful shutdown or cancellation; returns when nothing is on the way any more.
    func run() async {
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await self.work()
            } onGracefulShutdown: {
                self.signal.set()
            }
        } onCancel: {
            self.signal.set()
        }
    }

    private func work() async {
        let progress = Progress()
        var leased: ArraySlice<LeasedDelivery> = []
        await withDiscardingTaskGroup { group in
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                let pause = progress.state.pausedUntil.timeIntervalSince(self.now())
                if pause > 0 {
                    await self.release(leased)
                    leased = []
                    await self.signal.wait(atMost: .seconds(pause))
                    continue
                }
                if leased.isEmpty, self.untilDue() <= .zero { leased = await self.claim()[...] }
                while progress.state.running < self.settings.concurrency, let next = leased.popFirst() {
                    progress.began()
                    group.addTask {
                        progress.ended(pausingUntil: await self.deliver(next))
                        self.signal.set()
                    }
                }
                // With leases left, a place is missing; without, work is.
                let rest = leased.isEmpty ? max(self.untilDue(), .milliseconds(1)) : self.settings.rest
                await self.signal.wait(atMost: rest)
            }
            await self.release(leased)
        }
    }

    // MARK: - Private

    private func claim() async -> [LeasedDelivery] {
        do {
            return try await self.store.claim(
                for: self.platform,
                now: self.now(),
                lease: self.settings.lease,
                limit: self.settings.concurrency
            )
        } catch {
            self.logger.error("nothing claimed", metadata: self.metadata(["error": "\(error)"]))
            // What is due stays due: without a rest the loop would ask again at once. Ended early by cancellation.
            try? await Task.sleep(for: .seconds(1))
            return []
        }
    }

    /// How long until the next push may be claimed; the usual rest if that is further away, or cannot be told.
    private func untilDue() -> Duration {
        do {
            guard let due = try self.reader.nextDue(for: self.platform) else { return self.settings.rest }
            return min(.seconds(due.timeIntervalSince(self.now())), self.settings.rest)
        } catch {
            self.logger.error("outbox not readable", metadata: self.metadata(["error": "\(error)"]))
            return self.settings.rest
        }
    }

    /// Gives leases back, so that nobody waits for their end.
    private func release(_ leased: ArraySlice<LeasedDelivery>) async {
        for delivery in leased {
            await self.settle(delivery, as: .retried(at: self.now(), reason: "not tried: the sender stopped"))
        }
    }

    /// Sends one push and writes down what came of it; a date, if the whole sender is to rest until then.
    private func deliver(_ delivery: LeasedDelivery) async -> Date? {
        guard delivery.state.on(.claimed, now: self.now(), jitter: 0) == .send else {
            await self.settle(delivery, as: .expired)
            return nil
        }
        let event: DeliveryState.Event
        do throws(SendFailure) {
            event = .accepted(try await self.sender.send(delivery.push))
        } catch {
            event = .failed(error)
        }
        return await self.perform(delivery.state.on(event, now: self.now(), jitter: .random(in: 0...1)), on: delivery)
    }

    private func perform(_ action: DeliveryState.Action, on delivery: LeasedDelivery) async -> Date? {
        switch action {
        case .send:
            preconditionFailure("only a claim is answered with sending")
        case .accept(let providerID):
            self.status.resume(self.platform)
            await self.settle(delivery, as: .accepted(providerID: providerID))
        case .expire:
            await self.settle(delivery, as: .expired)
        case .fail(let reason):
            self.logger.warning("push rejected", metadata: self.metadata(["reason": "\(reason)"]))
            await self.settle(delivery, as: .failed(reason: reason))
        case .retry(let due, let reason):
            self.logger.info("push rescheduled", metadata: self.metadata(["reason": "\(reason)"]))
            await self.settle(delivery, as: .retried(at: due, reason: reason))
        case .park(let reason):
            await self.settle(delivery, as: .retried(at: delivery.state.expiresAt, reason: reason))
        case .suspectDevice(let reason):
            await self.settle(delivery, as: .failed(reason: reason))
            await self.retire(delivery.device, reason: reason, since: nil)
        case .retireDevice(let reason, let since):
            await self.settle(delivery, as: .failed(reason: reason))
            await self.retire(delivery.device, reason: reason, since: since)
        case .pauseSender(let until, let reason):
            self.logger.error("sender paused", metadata: self.metadata(["reason": "\(reason)"]))
            self.status.pause(self.platform, reason: reason)
            await self.settle(delivery, as: .retried(at: until, reason: reason))
            return until
        }
        return nil
    }

    private func retire(_ device: String, reason: String, since: Date?) async {
        do {
            if try await self.store.retire(device: device, reason: reason, since: since, now: self.now()) {
                self.logger.info("device retired", metadata: self.metadata(["reason": "\(reason)"]))
            }
        } catch {
            // The next push to it tells the same.
            self.logger.error("device not retired", metadata: self.metadata(["error": "\(error)"]))
        }
    }

    private func settle(_ delivery: LeasedDelivery, as settlement: Store.Settlement) async {
        do {
            try await self.store.settle(delivery, as: settlement, now: self.now())
        } catch {
            // The lease ends, and the push is sent once more, under the same id.
            self.logger.error("push not settled", metadata: self.metadata(["error": "\(error)"]))
        }
    }

    private func metadata(_ more: Logger.Metadata) -> Logger.Metadata {
        more.merging(["sender": "\(self.platform)"]) { own, _ in own }
    }
}

/// What the pushes on the way tell the loop.
private final class Progress: Sendable {
    private let current = Mutex((running: 0, pausedUntil: Date.distantPast))

    var state: (running: Int, pausedUntil: Date) { self.current.withLock { $0 } }

    func began() {
        self.current.withLock { $0.running += 1 }
    }

    func ended(pausingUntil pause: Date?) {
        self.current.withLock {
            $0.running -= 1
            $0.pausedUntil = max($0.pausedUntil, pause ?? .distantPast)
        }
    }
}
