internal import CCurl
internal import Reactor

/// Runs the calls of one client: assigns a handle to each call, enforces the call's deadline, and
/// classifies its result.
///
/// `@unchecked Sendable`: every member is used on the loop's thread only, which the methods
/// assert.
final class Dispatcher: @unchecked Sendable {
    private static let delayBeforeRepeat = Duration.milliseconds(10)

    private let settings: HTTPClientSettings
    private let loop: EventLoop
    private var pools: PoolSet?
    private var running: [ObjectIdentifier: Call] = [:]
    /// Calls without a free connection, in order of arrival.
    private var waiting: ArraySlice<Transfer> = []
    /// Interrupted calls, which are repeated after `delayBeforeRepeat`.
    private var delayed: [Transfer] = []
    private var delayTimer: LoopTimer?
    private var idle: [Transfer] = []
    private var isClosed = false

    init(_ settings: HTTPClientSettings, on loop: EventLoop) {
        self.settings = settings
        self.loop = loop
        self.pools = PoolSet(settings, on: loop) { [weak self] transfer, code in self?.complete(transfer, code) }
        self.delayTimer = LoopTimer(loop: loop) { [weak self] in self?.endDelay() }
    }

    func start(_ call: Call) {
        self.loop.assertOnLoop()
        if let refusal = self.refusal(of: call) { return call.finish(.failure(refusal)) }
        let transfer = self.idle.popLast() ?? self.makeTransfer()
        do throws(OutboundError) {
            try transfer.load(call.request)
        } catch {
            self.idle.append(transfer)
            return call.finish(.failure(error))
        }
        transfer.deadline?.arm(at: .now + call.request.timeout)
        call.transfer = transfer
        self.running[ObjectIdentifier(transfer)] = call
        self.waiting.append(transfer)
        self.startWaiting()
    }

    func cancel(_ call: Call) {
        self.loop.assertOnLoop()
        // If the task is cancelled before the call has started, this flag later prevents the
        // start.
        call.isCancelled = true
        guard let transfer = call.transfer else { return }
        self.abandon(transfer, .cancelled)
        self.startWaiting()
    }

    func renewConnections() {
        self.loop.assertOnLoop()
        self.pools?.retire()
    }

    func close() {
        self.loop.assertOnLoop()
        self.isClosed = true
        for call in self.running.values {
            if let transfer = call.transfer { self.abandon(transfer, .closed) }
        }
        self.idle.removeAll()
        self.delayTimer?.disarm()
        self.renewConnections()
    }

    // MARK: - Private

    private func refusal(of call: Call) -> OutboundError? {
        if self.isClosed { return .closed }
        if call.isCancelled { return .cancelled }
        let url = call.request.url
        guard url.isSecure || self.settings.allowsPlainHTTP else { return .badRequest("only https") }
        if let allowed = self.settings.allowedHosts, !allowed.contains(where: { $0.matches(url) }) {
            return .hostNotAllowed
        }
        return self.running.count < self.settings.maximumCalls ? nil : .overloaded
    }

    /// Assigns connections to waiting calls as long as there are free connections.
    private func startWaiting() {
        while let transfer = self.waiting.first {
            guard let url = self.running[ObjectIdentifier(transfer)]?.request.url else {
                preconditionFailure("a waiting handle without its call")
            }
            guard let pool = self.pools?.next(for: url) else { return }
            self.waiting.removeFirst()
            do throws(OutboundError) {
                try pool.add(transfer)
                transfer.pool = pool
            } catch {
                self.release(transfer)?.finish(.failure(error))
            }
        }
    }

    private func makeTransfer() -> Transfer {
        let transfer = Transfer(self.settings)
        transfer.deadline = LoopTimer(loop: self.loop) { [weak self, weak transfer] in
            guard let self, let transfer else { return }
            self.giveUp(transfer)
        }
        return transfer
    }

    private func giveUp(_ transfer: Transfer) {
        transfer.pool?.recordSilence()
        self.abandon(transfer, .timedOut)
        self.startWaiting()
    }

    private func complete(_ transfer: Transfer, _ code: CURLcode) {
        let pool = transfer.pool.take()
        switch transfer.completion(of: code) {
        case .notSent:
            transfer.rewind()
            self.waiting.insert(transfer, at: self.waiting.startIndex)
        case .interrupted:
            pool?.isUnusable = true
            transfer.beginRepeat()
            self.delay(transfer)
        case .ended(let outcome):
            pool?.record(outcome)
            self.release(transfer)?.finish(outcome)
            if case .failure = outcome, let pool, !pool.isProven { self.failWaiting(outcome) }
        }
        self.startWaiting()
    }

    /// Delays an interrupted call. All delayed calls are repeated together, `delayBeforeRepeat`
    /// after the first of them was delayed.
    private func delay(_ transfer: Transfer) {
        if self.delayed.isEmpty { self.delayTimer?.arm(at: .now + Self.delayBeforeRepeat) }
        self.delayed.append(transfer)
    }

    private func endDelay() {
        self.waiting.insert(contentsOf: self.delayed, at: self.waiting.startIndex)
        self.delayed.removeAll()
        self.startWaiting()
    }

    /// After the first call on a new connection has failed, fails the calls that waited for its
    /// outcome. Otherwise each of them would open a connection of its own.
    private func failWaiting(_ outcome: Call.Outcome) {
        guard self.settings.provesConnections else { return }
        let waiting = self.waiting + self.delayed
        self.waiting = []
        self.delayed = []
        for transfer in waiting { self.release(transfer)?.finish(outcome) }
    }

    private func abandon(_ transfer: Transfer, _ error: OutboundError) {
        if let pool = transfer.pool {
            pool.remove(transfer)
        } else if let index = self.waiting.firstIndex(where: { $0 === transfer }) {
            self.waiting.remove(at: index)
        } else if let index = self.delayed.firstIndex(where: { $0 === transfer }) {
            self.delayed.remove(at: index)
        }
        self.release(transfer)?.finish(.failure(error))
    }

    /// Frees the handle for the next call, and returns the call that it performed.
    private func release(_ transfer: Transfer) -> Call? {
        transfer.deadline?.disarm()
        transfer.unload()
        transfer.pool = nil
        if !self.isClosed { self.idle.append(transfer) }
        return self.running.removeValue(forKey: ObjectIdentifier(transfer))
    }
}
