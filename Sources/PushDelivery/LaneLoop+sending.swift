internal import Foundation
internal import Logging
internal import PushCore
internal import PushStore

extension LaneLoop {
    /// The longest delay, in seconds, for which a worker waits; for longer delays, the worker
    /// ends, and the loop waits.
    private static let longestWorkerDelay: TimeInterval = 1
    private static let delayAfterFailedMove: TimeInterval = 5

    /// Starts workers for the pushes that may be sent now, within the lane's limits.
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

    /// Sends one push after the other, as long as pushes wait and the provider may be called.
    private func sendOneByOne() async {
        while true {
            switch self.state.withLock({ $0.next(now: self.now()) }) {
            case .send(let delivery):
                guard self.maySend else {
                    self.state.withLock { $0.release(delivery) }
                    return
                }
                let settlement = await self.send(delivery)
                if self.state.withLock({ $0.end(delivery, as: settlement) }) { self.signal.set() }
            case .stop: return
            case .delay(let until):
                let wait = max(0, until.timeIntervalSince(self.now()))
                // During a short delay, each worker sleeps here. Cancellation ends the sleep
                // early.
                guard wait <= Self.longestWorkerDelay, (try? await Task.sleep(for: .seconds(wait))) != nil else {
                    return
                }
            }
        }
    }

    /// Sends one push, unless it has expired since it was leased; returns its settlement.
    private func send(_ delivery: LeasedDelivery) async -> Settlement {
        let sentAt = self.now()
        if delivery.state.isExpired(now: sentAt) { return .expired }
        let start = ContinuousClock.now
        let span = self.traces.spans?.begin(within: self.traces.trace(of: delivery.push.notification))
        let outcome = await self.lane.sender.outcome(of: delivery.push)
        if let span { self.traces.spans?.end(span, of: self.lane.lane, outcome) }
        let time = ContinuousClock.now - start
        self.state.record(time)
        await self.log(outcome, of: delivery, after: time)
        if let settlement = await self.move(delivery, after: outcome) { return settlement }
        let now = self.now()
        // The random number costs a system call, so it is drawn only if a delay may follow.
        let jitter: Double = if case .success = outcome { 0 } else { .random(in: 0...1) }
        let blame = self.state.withLock { $0.record(outcome, of: delivery, now: now, jitter: jitter) }
        if case .failure(let failure) = outcome {
            if let since = failure.retirement(sentAt: sentAt, blame: blame) {
                await self.retire(delivery, reason: failure.reason, since: since)
            }
        }
        let settlement = delivery.state.settlement(of: outcome, blame: blame, now: now, jitter: jitter)
        return self.lane.lane.isOfLooks ? delivery.state.settlementOfLook(settlement) : settlement
    }

    /// Moves a device that is unknown in this environment to the other environment, and lets its
    /// push continue there. Returns `nil` if no other environment exists, or if the device was not
    /// moved, for example because it is also unknown there. In that case the outcome in this
    /// environment counts.
    private func move(_ delivery: LeasedDelivery, after outcome: SendOutcome) async -> Settlement? {
        guard let other = self.lane.otherEnvironment, case .failure(.deviceUnknown(let reason)) = outcome else {
            return nil
        }
        let now = self.now()
        guard self.state.withLock({ $0.mayMoveDevices }) else { return nil }
        do {
            let isMoved = try await self.store.move(
                device: delivery.device,
                handle: delivery.push.handle,
                from: self.lane.lane,
                to: other,
                now: now
            )
            guard isMoved else { return nil }
            // The provider has refused the push, but the answer shows that the provider is
            // healthy.
            let answered = SendOutcome.failure(.rejected(reason: reason))
            _ = self.state.withLock { $0.record(answered, of: delivery, now: now, jitter: 0) }
            self.logger.info(
                "device moved to the other environment, because the provider does not know it in this one",
                metadata: self.metadata(of: delivery, ["other": "\(other)", "reason": "\(reason)"])
            )
            return .moved(reason: reason)
        } catch {
            self.logger.report(
                "device not moved to the other environment; the next attempt retries",
                error,
                self.metadata(of: delivery)
            )
            return .retried(at: self.now() + Self.delayAfterFailedMove, reason: reason)
        }
    }

    /// Writes one line to the log for each push. The level is `info` if the notification's trace
    /// is sampled. It is also `info` if the push carries a confirmation code and was not accepted:
    /// no other line tells an operator of this failure.
    private func log(_ outcome: SendOutcome, of delivery: LeasedDelivery, after time: Duration) async {
        let trace = self.traces.trace(of: delivery.push.notification)
        let isLostCode: Bool = if case .failure = outcome { delivery.push.confirmation != nil } else { false }
        let level: Logger.Level = isLostCode || trace.map({ self.traces.isSampled($0.trace) }) == true ? .info : .debug
        guard self.logger.logLevel <= level else { return }
        let fields = self.metadata(of: delivery, ["milliseconds": "\(time.milliseconds)"])
        switch outcome {
        case .success: self.logger.log(level: level, "push accepted", metadata: fields)
        // A push whose device is not connected has not failed, so no line is logged for it.
        case .failure(.offline): return
        case .failure(let failure):
            let more = await self.names(of: delivery, ["reason": "\(failure.reason)"])
            self.logger.log(level: level, "push not accepted", metadata: fields.merging(more) { $1 })
        }
    }

    /// The log fields with the device and the user of a push, for a line about a failure. Both are
    /// read from the store, because a leased push has only numbers for them.
    private func names(of delivery: LeasedDelivery, _ more: Logger.Metadata) async -> Logger.Metadata {
        var fields = more
        let id = delivery.push.notification
        // If the device and the user cannot be read, the line still has the notification's id.
        let entry = try? await self.reader.deliveries(of: id, after: delivery.device - 1, limit: 1).first
        guard let entry, entry.number == delivery.device else { return fields }
        if let device = entry.device { fields["device"] = "\(device)" }
        if let user = entry.username { fields["user"] = "\(user)" }
        return fields
    }

    private func retire(_ delivery: LeasedDelivery, reason: String, since: Date) async {
        do {
            let id = try await self.store.retire(
                device: delivery.device,
                handle: delivery.push.handle,
                in: self.lane.lane.ofDevices,
                reason: reason,
                since: since,
                now: self.now()
            )
            guard let id else { return }
            let fields = await self.names(of: delivery, ["device": "\(id)", "reason": "\(reason)"])
            self.logger.info("device retired", metadata: self.metadata(of: delivery, fields))
        } catch {
            // The failed retirement does no harm: the provider answers the next push to the device
            // in the same way, and the retirement is then tried again.
            self.logger.report(
                "device retirement failed; the next push to the device retries",
                error,
                self.metadata(of: delivery)
            )
        }
    }
}

extension SpanRecorder {
    /// Ends the span of a call to a provider. The provider's words, which may contain any text,
    /// are only in the log, and not in the span.
    fileprivate func end(_ span: OpenSpan, of lane: Lane, _ outcome: SendOutcome) {
        let name = "push \(lane.platform)"
        let attributes = [Span.Attribute("sealpost.lane", .text(lane.description))]
        switch outcome {
        // A push whose device is not connected has not failed, so its span has no error.
        case .success, .failure(.offline): self.end(span, name, .client, attributes)
        case .failure(let failure):
            self.end(span, name, .client, attributes + [.init("error.type", .text(failure.kind))], isFailed: true)
        }
    }
}
