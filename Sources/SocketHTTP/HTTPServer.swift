internal import Glibc
package import Reactor
internal import Synchronization

/// An HTTP/1.1 server over event loops.
///
/// ```swift
/// let server = HTTPServer(
///     listeners: [try Listener(address)],
///     loops: loops,
///     responder: application
/// )
/// await server.run()  // until server.stop()
/// ```
/// Each connection is a task that stays on one loop.
package final class HTTPServer: Sendable {
    /// Makes the stream of a connection, for instance with a TLS handshake; runs on the
    /// connection's loop. If it throws, the server closes the descriptor.
    package typealias StreamMaker = @Sendable (Descriptor) async throws -> any ByteStream

    /// The addresses on which the server listens; the real port replaces port 0.
    package var addresses: [SocketAddress] { self.listeners.map(\.address) }

    package let counts: ConnectionCounts

    private let listeners: [Listener]
    private let proxies: TrustedProxies
    private let responder: any Responder
    private let grace: Duration
    private let makeStream: StreamMaker?
    private let onBadProxyHeader: (@Sendable (PeerAddress) -> Void)?
    private let identifiesProcesses: Bool
    private let perLoop: [LoopConnections]
    private let acceptor: EventLoop
    /// It is a mutex, because the acceptor counts new connections, every loop counts ended ones,
    /// and callers may replace the limits.
    private let admission: Mutex<Admission>
    private let nextLoop = Atomic(0)
    private let graceEnded = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Creates a server. With `identifiesProcesses`, it serves only processes at unix sockets, and
    /// each request names the user of its process.
    ///
    /// With `onBadProxyHeader`, each connection of a trusted proxy begins with a header of the
    /// PROXY protocol, which names the client. The server calls the closure for each malformed
    /// header.
    package init(
        listeners: [Listener],
        loops: EventLoopGroup,
        limits: ServerLimits = ServerLimits(),
        proxies: TrustedProxies = .none,
        grace: Duration = .seconds(20),
        responder: any Responder,
        counts: ConnectionCounts = ConnectionCounts(),
        makeStream: StreamMaker? = nil,
        onBadProxyHeader: (@Sendable (PeerAddress) -> Void)? = nil,
        identifiesProcesses: Bool = false
    ) {
        self.listeners = listeners
        self.proxies = proxies
        self.acceptor = loops.acceptor
        self.admission = Mutex(Admission(limits: limits))
        self.responder = responder
        self.counts = counts
        self.grace = grace
        self.makeStream = makeStream
        self.onBadProxyHeader = onBadProxyHeader
        self.identifiesProcesses = identifiesProcesses
        self.perLoop = loops.loops.map(LoopConnections.init)
    }

    // MARK: Life

    /// Serves until `stop()`, and returns when all connections are closed.
    ///
    /// Cancelling the task stops the server too, but cancels the handlers at once, as they are its
    /// child tasks.
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

    /// Stops accepting connections, closes idle ones and lets running requests finish during the
    /// grace period. Then it closes all connections, and `run()` cancels the remaining handlers.
    /// Any thread may call this; further calls have no effect.
    package func stop() {
        for listener in self.listeners { listener.stop() }
        for share in self.perLoop { share.stop() }
        self.acceptor.execute {
            // This is a timer, because a sleep would end at once in a cancelled task.
            let timer = LoopTimer(loop: self.acceptor) { self.endGrace() }
            timer.arm(at: .now + self.grace)
        }
    }

    /// Replaces the limits for connections that begin afterwards; open ones keep theirs. Any
    /// thread may call this.
    ///
    /// The time after which the kernel gives up a vanished client does not change while the server
    /// listens.
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

    /// Serves a connection that the caller has accepted, and closes it; ends when the server
    /// stops. Call it on the stream's loop, which must be one of the server's.
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
        guard let peer = self.identifiesProcesses ? PeerAddress(processAt: socket) : PeerAddress(of: socket) else {
            close(socket)
            return
        }
        let origin = self.proxies.contains(peer) || peer == .unix ? nil : peer.origin
        let verdict = self.admission.withLock {
            $0.enter(from: origin, hearsRefusals: self.makeStream == nil || peer == .unix)
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
        // This fails if memory or watches have run out. The socket is then already closed, and no
        // answer can be sent.
        guard let descriptor = try? Descriptor(socket, on: share.loop) else { return }
        guard let (stream, client) = await self.open(descriptor, peer, share) else { return descriptor.close() }
        await self.connection(stream, client, share).serve()
    }

    /// Answers a refused connection, without TLS.
    private func refuseConnection(_ socket: Int32, _ peer: PeerAddress, _ refusal: Refusal, _ share: LoopConnections)
        async
    {
        // If this fails, the socket is already closed, as in `serve`.
        guard let descriptor = try? Descriptor(socket, on: share.loop) else { return }
        await self.connection(SocketStream(descriptor), peer, share).refuseConnection(refusal)
    }

    /// The stream, and the client: the peer, or the one that the header of a load balancer names.
    private func open(_ descriptor: Descriptor, _ peer: PeerAddress, _ share: LoopConnections) async
        -> (any ByteStream, PeerAddress)?
    {
        let hasHeader = self.onBadProxyHeader != nil && self.proxies.contains(peer)
        guard hasHeader || self.makeStream != nil else { return (SocketStream(descriptor), peer) }
        share.insert(opening: descriptor)
        defer { share.remove(opening: descriptor) }
        return await descriptor.cancellingWaits {
            guard let client = hasHeader ? await self.client(on: descriptor, behind: peer) : peer else { return nil }
            guard let makeStream = self.makeStream else { return (SocketStream(descriptor), client) }
            // `makeStream` reports its failures itself, and without a stream no answer can be
            // sent.
            return (try? await makeStream(descriptor)).map { ($0, client) }
        }
    }

    /// `nil` if the load balancer sends no header, or a malformed one: then nobody knows the
    /// client.
    private func client(on descriptor: Descriptor, behind peer: PeerAddress) async -> PeerAddress? {
        let timeout = self.admission.withLock { $0.limits.headerTimeout }
        do throws(ProxyHeader.Failure) {
            switch try await ProxyHeader.receive(on: descriptor, until: .now + timeout) {
            case .client(let address): return .ip(address)
            case .balancer: return peer
            }
        } catch {
            // Balancers check a port by a connection without bytes.
            if error == .malformed { self.onBadProxyHeader?(peer) }
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
