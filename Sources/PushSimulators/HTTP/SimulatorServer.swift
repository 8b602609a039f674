internal import Reactor
internal import SocketTLS
internal import Synchronization

/// A server for one simulator: HTTPS with HTTP/2, and also HTTP/1.1 if the provider supports it;
/// or plain HTTP/1.1.
final class SimulatorServer: Sendable {
    typealias Handler = @Sendable (SimulatedRequest) async -> SimulatedResponse

    struct Limits: Sendable {
        /// The largest number of concurrent requests of a client before a request has
        /// authenticated it.
        var streamsBeforeProof: Int
        /// The largest number of concurrent requests of an authenticated client.
        var streams: Int
        var handshakeTime: Duration = .seconds(10)
        var writeTime: Duration = .seconds(30)
        var idleTime: Duration = .seconds(3600)
    }

    private let listener: Listener
    /// `nil` if the server speaks plain HTTP/1.1, as metadata servers do.
    private let context: TLSServerContext?
    private let limits: Limits
    private let speaksHTTP1: Bool
    private let faults: FaultScript?
    private let connectionCount = Atomic(0)

    /// Starts to listen at once, on 127.0.0.1, so that the port is known and no client is refused
    /// before `serve`.
    ///
    /// `faults` contains the faults of connections; the faults of requests are in the handler's
    /// answers.
    init(
        port: UInt16,
        identity: TestAuthority.Identity,
        limits: Limits,
        speaksHTTP1: Bool,
        faults: FaultScript? = nil
    ) throws {
        self.listener = try Listener(.tcp(host: "127.0.0.1", port: port))
        self.context = try TLSServerContext(
            identities: [TLSIdentity(certificates: identity.certificate, privateKey: identity.privateKey)],
            protocols: speaksHTTP1 ? ["h2", "http/1.1"] : ["h2"]
        )
        self.limits = limits
        self.speaksHTTP1 = speaksHTTP1
        self.faults = faults
    }

    /// Starts to listen for plain HTTP/1.1.
    init(plainOnPort port: UInt16, limits: Limits) throws {
        self.listener = try Listener(.tcp(host: "127.0.0.1", port: port))
        self.context = nil
        self.limits = limits
        self.speaksHTTP1 = true
        self.faults = nil
    }

    /// The real port, even if the caller asked for port 0.
    var port: UInt16 {
        guard case .tcp(_, let port) = self.listener.address else { return 0 }
        return port
    }

    /// Serves all connections on `loop` until the task is cancelled, and returns after all
    /// connections have ended.
    func serve(on loop: EventLoop, handler: @escaping Handler) async {
        await withDiscardingTaskGroup { group in
            await self.listener.accept(on: loop) { number in
                group.addTask(executorPreference: loop) {
                    await self.serveConnection(number, on: loop, handler: handler)
                }
            }
        }
    }

    private func serveConnection(_ number: Int32, on loop: EventLoop, handler: @escaping Handler) async {
        // If the loop cannot watch the descriptor, only this connection is lost: it is closed.
        guard let descriptor = try? Descriptor(number, on: loop) else { return }
        defer { descriptor.close() }
        let connection = SimulatedConnection(
            number: self.connectionCount.add(1, ordering: .relaxed).newValue,
            fault: self.faults?.faultOfConnection(),
            descriptor: descriptor
        )
        await descriptor.cancellingWaits {
            do {
                guard let context = self.context else {
                    let stream = SocketStream(descriptor)
                    return await serveHTTP1(stream, as: connection, limits: self.limits, handler: handler)
                }
                if try await connection.endsBeforeTLS(within: self.limits.idleTime) { return }
                let stream = try TLSStream(SocketStream(descriptor), context: context)
                defer { stream.endWriting() }
                try await stream.handshake(until: .now + self.limits.handshakeTime)
                if connection.fault == .stopReading {
                    try await connection.waitForHangUp(within: self.limits.idleTime)
                } else if stream.chosenProtocol == "h2" {
                    try await HTTP2Connection(
                        stream,
                        as: connection,
                        loop: loop,
                        limits: self.limits,
                        handler: handler
                    ).serve()
                } else if self.speaksHTTP1 {
                    await serveHTTP1(stream, as: connection, limits: self.limits, handler: handler)
                }
            } catch {
                // If the handshake has failed, the TLS alert gives the client the reason. The
                // simulator continues in any case.
            }
        }
    }
}
