internal import Reactor

/// The connections of a pool.
///
/// `@unchecked Sendable`: every member is used on the loop's thread only, which the methods assert.
final class Connections: @unchecked Sendable {
    /// A further reader is opened when all open ones have this many statements under way.
    private static let busyReader = 32
    private static let drainInterval = Duration.milliseconds(5)

    private let loop: EventLoop
    private let readers: [PipelineConnection]
    let writers: WriterPool
    var retries = 0
    private var isClosed = false
    private var drainTimer: LoopTimer?
    private var whenDrained: [() -> Void] = []

    init(_ address: DatabaseAddress, _ options: PoolOptions, on loop: EventLoop) {
        let connector = Connector(address, on: loop, limit: options.connectLimit)
        self.loop = loop
        self.readers = (0..<max(1, options.readers)).map { _ in PipelineConnection(connector, options) }
        self.writers = WriterPool(connector, options)
        self.drainTimer = LoopTimer(loop: loop) { [weak self] in self?.closeIfDrained() }
    }

    func submit(_ request: Request) {
        self.loop.assertOnLoop()
        guard self.whenDrained.isEmpty, !self.isClosed else {
            request.finish(.failure(.unavailable(reason: "the pool is closed")))
            return
        }
        let least = self.readers.min { $0.waiting < $1.waiting }
        let reader = self.readers.first { $0.waiting < Self.busyReader } ?? least
        reader?.submit(request)
    }

    var counters: PoolCounters {
        var counters = PoolCounters()
        counters.open = self.writers.open + self.readers.count(where: \.isOpen)
        counters.waiting = self.readers.reduce(self.writers.waiting) { $0 + $1.waiting }
        counters.oldestWait = self.readers.reduce(self.writers.oldestWait) { max($0, $1.oldestWait) }
        counters.retries = self.readers.reduce(self.retries) { $0 + $1.retries }
        counters.lost = self.readers.reduce(self.writers.lost) { $0 + $1.lost }
        return counters
    }

    /// Closes the connections once all that was submitted has its answer.
    func drain(_ completion: @escaping () -> Void) {
        self.loop.assertOnLoop()
        guard !self.isClosed else { return completion() }
        self.whenDrained.append(completion)
        self.closeIfDrained()
    }

    /// Closes the connections at once; what is under way fails.
    func close() {
        self.loop.assertOnLoop()
        self.isClosed = true
        self.drainTimer?.abandon()
        for reader in self.readers { reader.close() }
        self.writers.close()
        let completions = self.whenDrained
        self.whenDrained = []
        for completion in completions { completion() }
    }

    private func closeIfDrained() {
        guard !self.isClosed else { return }
        if self.writers.isQuiet, self.readers.allSatisfy({ $0.waiting == 0 }) {
            self.close()
        } else {
            self.drainTimer?.arm(at: .now + Self.drainInterval)
        }
    }
}
