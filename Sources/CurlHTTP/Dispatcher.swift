internal import CCurl
internal import Reactor

/// The calls of one client: gives each a handle, watches its deadline, sorts its end.
///
/// `@unchecked Sendable`: every member is touched on the loop's thread only, which the methods assert.
final class Dispatcher: @unchecked Sendable {
    /// So many calls in a row without an answer, and the connections are given up: a peer may keep a connection open
    /// and never again read from it.
    private static let patience = 4

    private let settings: HTTPClientSettings
    private let loop: EventLoop
    private var pool: ConnectionPool?
    private var running: [ObjectIdentifier: Call] = [:]
    private var idle: [Transfer] = []
    private var unanswered = 0
    private var isClosed = false

    init(_ settings: HTTPClientSettings, on loop: EventLoop) {
        self.settings = settings
        self.loop = loop
    }

    func start(_ call: Call) {
        self.loop.assertOnLoop()
        if let refusal = self.refusal(of: call) { return call.finish(.failure(refusal)) }
        let transfer = self.idle.popLast() ?? self.makeTransfer()
        let pool = self.currentPool()
        do throws(OutboundError) {
            try transfer.load(call.request)
            try pool.add(transfer)
        } catch {
            self.idle.append(transfer)
            return call.finish(.failure(error))
        }
        transfer.pool = pool
        transfer.deadline?.arm(at: .now + call.request.timeout)
        call.transfer = transfer
        self.running[ObjectIdentifier(transfer)] = call
    }

    func cancel(_ call: Call) {
        self.loop.assertOnLoop()
        // A task that is cancelled before its call has started gets here first.
        call.isCancelled = true
        if let transfer = call.transfer { self.abandon(transfer, .cancelled) }
    }

    func renewConnections() {
        self.loop.assertOnLoop()
        self.unanswered = 0
        self.pool.take()?.retire()
    }

    func close() {
        self.loop.assertOnLoop()
        self.isClosed = true
        for call in self.running.values {
            if let transfer = call.transfer { self.abandon(transfer, .closed) }
        }
        self.idle.removeAll()
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

    private func currentPool() -> ConnectionPool {
        if let pool, !pool.isBroken { return pool }
        self.pool?.retire()
        let pool = ConnectionPool(self.settings, on: self.loop) { [weak self] transfer, code in
            self?.complete(transfer, code)
        }
        self.pool = pool
        return pool
    }

    private func makeTransfer() -> Transfer {
        let transfer = Transfer(self.settings)
        transfer.deadline = LoopTimer(loop: self.loop) { [weak self, weak transfer] in
            guard let self, let transfer else { return }
            self.unanswered += 1
            self.abandon(transfer, .timedOut)
            if self.unanswered >= Self.patience { self.renewConnections() }
        }
        return transfer
    }

    private func complete(_ transfer: Transfer, _ code: CURLcode) {
        let outcome = transfer.outcome(of: code)
        if case .success = outcome { self.unanswered = 0 }
        self.release(transfer)?.finish(outcome)
    }

    private func abandon(_ transfer: Transfer, _ error: OutboundError) {
        transfer.pool?.remove(transfer)
        self.release(transfer)?.finish(.failure(error))
    }

    /// Makes the handle free for the next call and returns the one it worked for.
    private func release(_ transfer: Transfer) -> Call? {
        transfer.deadline?.disarm()
        transfer.unload()
        transfer.pool = nil
        if !self.isClosed { self.idle.append(transfer) }
        return self.running.removeValue(forKey: ObjectIdentifier(transfer))
    }
}
