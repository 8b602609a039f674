internal import Glibc
package import Reactor
internal import Synchronization

/// An HTTP/1.1 server on event loops.
///
/// ```swift
/// let server = HTTPServer(
///     listeners: [try Listener(address)],
///     loops: loops,
///     responder: application
/// )
/// await server.run()  // until server.stop()
/// ```
/// Each connection has one task, which stays on one event loop.
package final class HTTPServer: Sendable {
    /// Makes the stream of a new connection, for instance with a TLS handshake. It runs on the
    /// connection's event loop. If it throws, the server closes the descriptor.
    package typealias StreamMaker = @Sendable (Descriptor) async throws -> any ByteStream

    /// How the server opens a new connection.
    package struct Opening: Sendable {
        /// `nil`: the connection has no TLS.
        let makeStream: StreamMaker?
        /// If this is set, each connection from a trusted proxy must begin with a header of the
        /// PROXY protocol, which names the client. The server calls it for each malformed header.
        let onBadProxyHeader: (@Sendable (PeerAddress) -> Void)?
        /// Whether the server accepts connections only at unix sockets, and each request names
        /// the user of the client's process.
        let identifiesProcesses: Bool

        package init(
            makeStream: StreamMaker? = nil,
            onBadProxyHeader: (@Sendable (PeerAddress) -> Void)? = nil,
            identifiesProcesses: Bool = false
        ) {
            self.makeStream = makeStream
            self.onBadProxyHeader = onBadProxyHeader
            self.identifiesProcesses = identifiesProcesses
        }
    }

    /// The addresses that the server listens on. If an address was given with port 0, it has the
    /// port that the kernel chose.
    package var addresses: [SocketAddress] { self.listeners.map(\.address) }

    package let counts: ConnectionCounts

    private let listeners: [Listener]
    private let proxies: TrustedProxies
    private let responder: any Responder
    private let grace: Duration
    private let opening: Opening
    private let perLoop: [LoopConnections]
    private let acceptor: EventLoop
    /// The lock is necessary, because the acceptor counts new connections, and every event loop
    /// counts ended connections. Callers may also replace the limits.
    private let admission: Mutex<Admission>
    private let nextLoop = Atomic(0)
    private let graceEnded = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    package init(
        listeners: [Listener],
        loops: EventLoopGroup,
        limits: ServerLimits = ServerLimits(),
        proxies: TrustedProxies = .none,
        grace: Duration = .seconds(20),
        responder: any Responder,
        counts: ConnectionCounts = ConnectionCounts(),
        opening: Opening = Opening()
    ) {
        self.listeners = listeners
        self.proxies = proxies
        self.acceptor = loops.acceptor
        self.admission = Mutex(Admission(limits: limits))
        self.responder = responder
        self.counts = counts
        self.grace = grace
        self.opening = opening
        self.perLoop = loops.loops.map(LoopConnections.init)
    }

    // MARK: Life

    /// Serves requests until `stop()`, and returns when all connections are closed.
    ///
    /// If the task of this call is cancelled, the server stops, too. The handlers are then
    /// cancelled at once, since they run in child tasks.
    package func run() async {
        await withTaskCancellationHandler {
            await withTaskGroup(of: Event.self) { group in
                let limits = self.admission.withLock { $0.limits }
                for listener in self.listeners {
                    listener.dropVanishedClients(after: limits.writeTimeout)
                    group.addTask(executorPreference: self.acceptor) {
                        await self.serve(listener)
                        return .listenerEnded
                    }
                }
                group.addTask {
                    for await _ in self.graceEnded.stream { break }
                    return .graceEnded
                }
                var serving = self.listeners.count
                while serving > 0, let event = await group.next() {
                    switch event {
                    case .listenerEnded: serving -= 1
                    case .graceEnded: group.cancelAll()
                    }
                }
                group.cancelAll()
            }
        } onCancel: {
            self.stop()
        }
    }

    /// Stops accepting connections, closes idle ones, and lets running requests finish during the
    /// grace period. After that period it closes all connections, and `run()` cancels the handlers
    /// that still run. Any thread may call this; a second call has no effect.
    package func stop() {
        for listener in self.listeners { listener.stop() }
        for share in self.perLoop { share.stop() }
        self.acceptor.execute {
            // A timer is used, because in a cancelled task a sleep would end at once.
            let timer = LoopTimer(loop: self.acceptor) { self.endGrace() }
            timer.arm(at: .now + self.grace)
        }
    }

    /// Replaces the limits for connections that begin afterwards; open connections keep their
    /// limits. Any thread may call this.
    ///
    /// Existing listening sockets also keep the old `writeTimeout` as the time after which the
    /// kernel gives up a client that has vanished.
    package func replaceLimits(_ limits: ServerLimits) {
        self.admission.withLock { $0.limits = limits }
    }

    private enum Event {
        case listenerEnded, graceEnded
    }

    private func endGrace() {
        for share in self.perLoop { share.close() }
        self.graceEnded.continuation.yield()
    }

    // MARK: Connections

    /// Serves a connection that the caller has accepted, and closes it. It returns at the latest
    /// when the server stops. Call it on the stream's event loop, which must be one of the
    /// server's loops.
    package func serveConnection(_ stream: any ByteStream, peer: PeerAddress, on loop: EventLoop) async {
        loop.assertOnLoop()
        await self.connection(stream, peer, self.perLoop[loop.index]).serve()
    }

    private func serve(_ listener: Listener) async {
        await withDiscardingTaskGroup { connections in
            await listener.accept(on: self.acceptor) { socket in
                self.start(socket, in: &connections)
            }
        }
    }

    private func start(_ socket: Int32, in connections: inout DiscardingTaskGroup) {
        guard let peer = self.opening.identifiesProcesses ? PeerAddress(processAt: socket) : PeerAddress(of: socket)
        else {
            close(socket)
            return
        }
        let origin = self.proxies.contains(peer) || peer == .unix ? nil : peer.origin
        let verdict = self.admission.withLock {
            $0.enter(from: origin, hearsRefusals: self.opening.makeStream == nil || peer == .unix)
        }
        let turn = self.nextLoop.wrappingAdd(1, ordering: .relaxed).oldValue
        let share = self.perLoop[Int(UInt(bitPattern: turn) % UInt(self.perLoop.count))]
        switch verdict {
        case .welcome(let evicts):
            self.counts.open.wrappingAdd(1, ordering: .relaxed)
            connections.addTask(executorPreference: share.loop) {
                if evicts, share.closeLongestIdle() { self.counts.evicted.wrappingAdd(1, ordering: .relaxed) }
                await self.serve(socket, peer, share)
                self.admission.withLock { $0.leave(from: origin) }
                self.counts.open.wrappingSubtract(1, ordering: .relaxed)
            }
        case .refused(let refusal):
            self.counts.refused.wrappingAdd(1, ordering: .relaxed)
            connections.addTask(executorPreference: share.loop) {
                await self.refuseConnection(socket, peer, refusal, share)
                self.admission.withLock { $0.leaveRefused() }
            }
        case .dropped:
            self.counts.refused.wrappingAdd(1, ordering: .relaxed)
            close(socket)
        }
    }

    private func serve(_ socket: Int32, _ peer: PeerAddress, _ share: LoopConnections) async {
        // `Descriptor` throws if the kernel has no memory for the socket, or cannot watch it. The
        // socket is then already closed, so the client gets no answer.
        guard let descriptor = try? Descriptor(socket, on: share.loop) else { return }
        guard let (stream, client) = await self.open(descriptor, peer, share) else { return descriptor.close() }
        await self.connection(stream, client, share).serve()
    }

    /// Answers a refused connection without a TLS handshake.
    private func refuseConnection(_ socket: Int32, _ peer: PeerAddress, _ refusal: Refusal, _ share: LoopConnections)
        async
    {
        // If `Descriptor` throws, the socket is already closed.
        guard let descriptor = try? Descriptor(socket, on: share.loop) else { return }
        await self.connection(SocketStream(descriptor), peer, share).refuseConnection(refusal)
    }

    /// Opens the stream. Returns it with the client's address: the peer's address, or the address
    /// that the PROXY header of a load balancer contains.
    private func open(_ descriptor: Descriptor, _ peer: PeerAddress, _ share: LoopConnections) async
        -> (any ByteStream, PeerAddress)?
    {
        let hasHeader = self.opening.onBadProxyHeader != nil && self.proxies.contains(peer)
        guard hasHeader || self.opening.makeStream != nil else { return (SocketStream(descriptor), peer) }
        share.insert(opening: descriptor)
        defer { share.remove(opening: descriptor) }
        return await descriptor.cancellingWaits {
            guard let client = hasHeader ? await self.client(on: descriptor, behind: peer) : peer else { return nil }
            guard let makeStream = self.opening.makeStream else { return (SocketStream(descriptor), client) }
            // `makeStream` reports its failures itself. Without a stream, the client gets no
            // answer.
            return (try? await makeStream(descriptor)).map { ($0, client) }
        }
    }

    /// The client's address; `nil` if the load balancer sends no PROXY header or a malformed one,
    /// since the client is then unknown.
    private func client(on descriptor: Descriptor, behind peer: PeerAddress) async -> PeerAddress? {
        let timeout = self.admission.withLock { $0.limits.headerTimeout }
        do throws(ProxyHeader.Failure) {
            switch try await ProxyHeader.receive(on: descriptor, until: .now + timeout) {
            case .client(let address): return .ip(address)
            case .balancer: return peer
            }
        } catch {
            // A missing header is not reported: load balancers check a port by a connection
            // without bytes.
            if error == .malformed { self.opening.onBadProxyHeader?(peer) }
            return nil
        }
    }

    private func connection(
        _ stream: any ByteStream,
        _ peer: PeerAddress,
        _ share: LoopConnections
    ) -> Connection {
        Connection(
            stream,
            peer: peer,
            limits: self.admission.withLock { $0.limits },
            proxies: self.proxies,
            responder: self.responder,
            loopState: share
        )
    }
}
