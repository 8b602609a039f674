internal import Reactor

/// What the connections of one loop have in common.
///
/// `@unchecked Sendable`: everything but `loop` is touched on the loop's thread only.
final class LoopConnections: @unchecked Sendable {
    let loop: EventLoop
    /// While stopping, how long an idle connection stays open: a request on its way is answered and not reset.
    static let lastMoment = Duration.milliseconds(50)
    /// The same for one that has not asked yet, whose first request is surely on its way, and may be a POST.
    static let firstMoment = Duration.seconds(1)

    private(set) var isStopping = false
    private var connections: [ObjectIdentifier: Connection] = [:]
    /// Connections of which no stream has been made yet.
    private var openings: [ObjectIdentifier: Descriptor] = [:]
    private var isClosed = false
    /// Here because the date in it is good for all of them.
    var encoder = ResponseEncoder()

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// `false` after the end: the connection must not be served.
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
        self.openings[ObjectIdentifier(descriptor)] = descriptor
        if self.isClosed { descriptor.cancelWaits() }
    }

    func remove(opening descriptor: Descriptor) {
        self.loop.assertOnLoop()
        self.openings[ObjectIdentifier(descriptor)] = nil
    }

    /// Lets every connection answer what it has begun, and close. From any thread.
    func stop() {
        self.loop.execute {
            self.isStopping = true
            for connection in self.connections.values { connection.endProduction() }
            self.after(Self.lastMoment) {
                for connection in self.connections.values { connection.closeIfIdle() }
                for descriptor in self.openings.values { descriptor.cancelWaits() }
            }
            self.after(Self.firstMoment) {
                for connection in self.connections.values { connection.closeIfIdle(evenIfNew: true) }
            }
        }
    }

    private func after(_ time: Duration, _ action: @escaping () -> Void) {
        LoopTimer(loop: self.loop, action: action).arm(at: .now + time)
    }

    /// Closes all, whatever it is doing. From any thread.
    func close() {
        self.loop.execute {
            self.isClosed = true
            for connection in self.connections.values { connection.close() }
            for descriptor in self.openings.values { descriptor.cancelWaits() }
        }
    }
}
