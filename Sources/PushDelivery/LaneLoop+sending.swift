internal import Foundation
internal import Logging
internal import PushCore
internal import PushStore

extension LaneLoop {
    /// Rests up to this long are a worker's own; longer ones are the loop's.
    private static let longestRestOfWorker: TimeInterval = 1

    /// Starts as many workers as there is work and room for.
    func beginSending(_ group: inout DiscardingTaskGroup) {
        let count = self.state.withLock { $0.beginWorkers(now: self.now()) }
        for _ in 0..<count {
            group.addTask(executorPreference: self.executor) {
                await self.sendOneByOne()
                self.state.withLock { $0.endWorker() }
                self.signal.set()
            }
        }
    }

    /// Sends one push after the other, as long as there are any and the provider may be called.
    private func sendOneByOne() async {
        while true {
            switch self.state.withLock({ $0.next(now: self.now()) }) {
            case .send(let delivery):
                let settlement = await self.send(delivery)
                if self.state.withLock({ $0.end(delivery, as: settlement) }) { self.signal.set() }
            case .stop: return
            case .rest(let until):
                let wait = max(0, until.timeIntervalSince(self.now()))
                // The others wait in the same way. Ended early by cancellation.
                guard wait <= Self.longestRestOfWorker, (try? await Task.sleep(for: .seconds(wait))) != nil else {
                    return
                }
            }
        }
    }

    /// Sends one push, unless it has expired since it was leased; returns its settlement.
    private func send(_ delivery: LeasedDelivery) async -> Settlement {
        let sentAt = self.now()
        if delivery.state.isExpired(now: sentAt) { return .expired }
        let outcome = await self.lane.sender.outcome(of: delivery.push)
        let now = self.now()
        // Asked of the kernel, and so only where there may be a wait.
        let jitter: Double = if case .success = outcome { 0 } else { .random(in: 0...1) }
        let blame = self.state.withLock { $0.note(outcome, of: delivery, now: now, jitter: jitter) }
        if case .failure(let failure) = outcome {
            self.log(failure)
            if let since = failure.retirement(sentAt: sentAt, blame: blame) {
                await self.retire(delivery, reason: failure.reason, since: since)
            }
        }
        return delivery.state.settlement(of: outcome, blame: blame, now: now, jitter: jitter)
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
}
