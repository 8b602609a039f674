internal import Reactor

/// The state that the connections of one event loop share.
///
/// `@unchecked Sendable`: only the loop's thread uses the properties other than `loop`.
final class LoopConnections: @unchecked Sendable {
    let loop: EventLoop
    /// How long an idle connection stays open while the server stops. A request that is on its way
    /// then gets an answer instead of a reset.
    static let lastMoment = Duration.milliseconds(50)
    /// How long a connection without any request so far stays open while the server stops. Its
    /// first request is probably on its way, and a client cannot safely repeat a POST.
    static let firstMoment = Duration.seconds(1)

    private(set) var isStopping = false
    private var connections: [ObjectIdentifier: Connection] = [:]
    /// Connections that do not have a stream yet, and the time at which they began.
    private var openings: [ObjectIdentifier: (descriptor: Descriptor, since: ContinuousClock.Instant)] = [:]
    /// At most `foundAtOnce` connections that were idle at the last search. The connection that
    /// has been idle longest comes last.
    private var longestIdle: [(since: ContinuousClock.Instant, closeIfStillIdle: () -> Bool)] = []
    private var nextSearch = ContinuousClock.now
    private var isClosed = false
    /// All connections share this encoder, because its line `Date` is the same for all of them.
    @exclusivity(unchecked) var encoder = ResponseEncoder()
    @exclusivity(unchecked) var spares = SpareBuffers()
    /// The memory of the last answer, which the next answer reuses: the connections of a loop
    /// answer one after the other.
    @exclusivity(unchecked) var spareOutput: [UInt8] = []

    /// The body of all requests without one. It has no state that changes.
    let emptyBody = RequestBody([])

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// Adds a connection. Returns `false` after `close()`: the caller must then not serve the
    /// connection.
    func insert(_ connection: Connection) -> Bool {
        self.loop.assertOnLoop()
        guard !self.isClosed else { return false }
        self.connections[ObjectIdentifier(connection)] = connection
        return true
    }

    func remove(_ connection: Connection) {
        self.loop.assertOnLoop()
        self.connections[ObjectIdentifier(connection)] = nil
    }

    func insert(opening descriptor: Descriptor) {
        self.loop.assertOnLoop()
        self.openings[ObjectIdentifier(descriptor)] = (descriptor, self.loop.now)
        if self.isClosed { descriptor.cancelWaits() }
    }

    func remove(opening descriptor: Descriptor) {
        self.loop.assertOnLoop()
        self.openings[ObjectIdentifier(descriptor)] = nil
    }

    /// Closes the connection that has been idle longest, to make room for a new one; `false` if no
    /// connection is idle.
    ///
    /// A search over all connections finds several idle ones at once, so searches are rare. A list
    /// sorted by idle time would instead cost time at each request.
    func closeLongestIdle() -> Bool {
        self.loop.assertOnLoop()
        if self.closeLongestIdleFound() { return true }
        guard self.loop.now >= self.nextSearch else { return false }
        self.nextSearch = self.loop.now + .milliseconds(10)
        var idle = self.connections.values.compactMap { connection in
            connection.idleSince.map { since in
                (since, { connection.close(ifIdleSince: since) })
            }
        }
        idle += self.openings.map { id, opening in
            (opening.since, { self.close(opening: id, since: opening.since) })
        }
        idle.sort { $0.0 > $1.0 }
        self.longestIdle = idle.suffix(Self.foundAtOnce)
        return self.closeLongestIdleFound()
    }

    private static let foundAtOnce = 64

    private func closeLongestIdleFound() -> Bool {
        while let next = self.longestIdle.popLast() {
            if next.closeIfStillIdle() { return true }
        }
        return false
    }

    private func close(opening id: ObjectIdentifier, since: ContinuousClock.Instant) -> Bool {
        // By now, another descriptor may have the same object identifier; the time tells them
        // apart.
        guard let opening = self.openings[id], opening.since == since else { return false }
        opening.descriptor.cancelWaits()
        return true
    }

    /// Lets every connection finish the answer that it has begun, and then closes it. Any thread
    /// may call this.
    func stop() {
        self.loop.execute {
            self.isStopping = true
            for connection in self.connections.values { connection.endStreamingBody() }
            self.after(Self.lastMoment) {
                for connection in self.connections.values { connection.closeIfIdle() }
                for opening in self.openings.values { opening.descriptor.cancelWaits() }
            }
            self.after(Self.firstMoment) {
                for connection in self.connections.values { connection.closeIfIdle(evenIfNew: true) }
            }
        }
    }

    private func after(_ time: Duration, _ action: @escaping () -> Void) {
        LoopTimer(loop: self.loop, action: action).arm(at: .now + time)
    }

    /// Closes all connections, even while they answer a request. Any thread may call this.
    func close() {
        self.loop.execute {
            self.isClosed = true
            for connection in self.connections.values { connection.close() }
            for opening in self.openings.values { opening.descriptor.cancelWaits() }
        }
    }
}
