internal import Reactor

/// The connections of a pool.
///
/// `@unchecked Sendable`: only the loop's thread uses the members, which the methods assert.
final class Connections: @unchecked Sendable {
    /// The pool opens a further reader if each open reader has this number of statements in
    /// flight.
    private static let busyReader = 32
    private static let drainInterval = Duration.milliseconds(5)

    private let loop: EventLoop
    private let readers: [PipelineConnection]
    let writers: WriterPool
    /// The connection for a few small statements that must not wait for other statements. It is
    /// opened when it is first used.
    private let control: PipelineConnection
    var retries = 0
    private var isClosed = false
    private var drainTimer: LoopTimer?
    private var whenDrained: [() -> Void] = []

    init(_ address: DatabaseAddress, _ options: PoolOptions, on loop: EventLoop, _ cluster: ClusterGuard) {
        let connector = Connector(address, on: loop, limit: options.connectLimit, cluster)
        self.loop = loop
        self.readers = (0..<max(1, options.readers)).map { _ in PipelineConnection(connector, options) }
        self.writers = WriterPool(connector, options)
        self.control = PipelineConnection(connector, options)
        self.drainTimer = LoopTimer(loop: loop) { [weak self] in self?.closeIfDrained() }
        connector.onAdvance = { [weak self] in self?.leave(olderThan: $0) }
    }

    func submit(_ request: Request) {
        let least = self.readers.min { $0.waiting < $1.waiting }
        self.submit(request, to: self.readers.first { $0.waiting < Self.busyReader } ?? least)
    }

    /// Submits a request on the control connection.
    func submitControl(_ request: Request) {
        self.submit(request, to: self.control)
    }

    func listen(_ listening: Listening) {
        self.control.listen(listening)
    }

    var counters: PoolCounters {
        let pipelines = self.pipelines
        var counters = PoolCounters()
        counters.open = self.writers.open + pipelines.count(where: \.isOpen)
        counters.waiting = pipelines.reduce(self.writers.waiting) { $0 + $1.waiting }
        counters.oldestWait = pipelines.reduce(self.writers.oldestWait) { max($0, $1.oldestWait) }
        counters.retries = pipelines.reduce(self.retries) { $0 + $1.retries }
        counters.lost = pipelines.reduce(self.writers.lost) { $0 + $1.lost }
        return counters
    }

    private var pipelines: [PipelineConnection] { self.readers + [self.control] }

    /// Closes the connections once every submitted request has its answer.
    func drain(_ completion: @escaping () -> Void) {
        self.loop.assertOnLoop()
        guard !self.isClosed else { return completion() }
        self.whenDrained.append(completion)
        self.closeIfDrained()
    }

    /// Closes the connections immediately; statements and transactions under way fail.
    func close() {
        self.loop.assertOnLoop()
        self.isClosed = true
        self.drainTimer?.abandon()
        for connection in self.pipelines { connection.close() }
        self.writers.close()
        let completions = self.whenDrained
        self.whenDrained = []
        for completion in completions { completion() }
    }

    private func submit(_ request: Request, to connection: PipelineConnection?) {
        self.loop.assertOnLoop()
        guard self.whenDrained.isEmpty, !self.isClosed else {
            request.finish(.failure(.unavailable(reason: "the pool is closed")))
            return
        }
        connection?.submit(request)
    }

    private func leave(olderThan timeline: UInt32) {
        for connection in self.pipelines { connection.leave(olderThan: timeline) }
        self.writers.leave(olderThan: timeline)
    }

    private func closeIfDrained() {
        guard !self.isClosed else { return }
        if self.writers.isQuiet, self.pipelines.allSatisfy({ $0.waiting == 0 }) {
            self.close()
        } else {
            self.drainTimer?.arm(at: .now + Self.drainInterval)
        }
    }
}
