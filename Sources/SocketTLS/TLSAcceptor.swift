internal import Glibc
package import Reactor
internal import Synchronization

/// Makes the streams of new connections, by a handshake each.
///
/// ```swift
/// let acceptor = TLSAcceptor(context, handshakeTimeout: .seconds(10))
/// let server = HTTPServer(listeners: …, responder: …, makeStream: acceptor.accept)
/// ```
package final class TLSAcceptor: Sendable {
    /// A mutex, because the caller that replaces it is on no loop.
    private let context: Mutex<TLSServerContext>
    private let handshakeTimeout: Duration
    private let failures = Atomic(0)
    private let onFailure: @Sendable (any Error) -> Void

    /// How long a client that was refused may take to read why.
    private static let lingeringTime = Duration.seconds(2)
    private static let lingeringBytes = 65_536

    /// `onFailure` is called on the connection's loop for each handshake that fails.
    package init(
        _ context: TLSServerContext,
        handshakeTimeout: Duration,
        onFailure: @escaping @Sendable (any Error) -> Void = { _ in }
    ) {
        self.context = Mutex(context)
        self.handshakeTimeout = handshakeTimeout
        self.onFailure = onFailure
    }

    /// How many handshakes have failed so far.
    package var failedHandshakes: Int { self.failures.load(ordering: .relaxed) }

    /// Uses another context for all connections from now on; those that are open keep theirs.
    package func replace(with context: TLSServerContext) {
        self.context.withLock { $0 = context }
    }

    /// Speaks TLS with a client over the network; a unix socket, which no network can see, stays in clear.
    ///
    /// Throws `StreamError` if there is no agreement, `WaitError` at the deadline or on cancellation.
    package func accept(_ descriptor: Descriptor) async throws -> any ByteStream {
        let socket = SocketStream(descriptor)
        if Self.isLocal(descriptor.number) { return socket }
        let stream = try TLSStream(socket, context: self.context.withLock { $0 })
        do {
            try await stream.handshake(until: .now + self.handshakeTimeout)
            return stream
        } catch {
            self.failures.add(1, ordering: .relaxed)
            self.onFailure(error)
            if error is StreamError { await self.part(from: socket, speakingHTTP: stream.peerSpeaksHTTP) }
            throw error
        }
    }

    private static func isLocal(_ socket: Int32) -> Bool {
        var domain: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX
    }

    /// Ends our side and reads on for a moment: closing with bytes unread makes the kernel send a reset, on which the
    /// client's would drop the alert that says why.
    private func part(from socket: SocketStream, speakingHTTP: Bool) async {
        let deadline = ContinuousClock.now + Self.lingeringTime
        do {
            // It fits into the empty buffer of a new connection, or the connection is past help.
            if speakingHTTP { _ = try Self.plainAnswer.withUnsafeBytes { try socket.write($0) } }
            socket.endWriting()
            var buffer = [UInt8](repeating: 0, count: 4096)
            var room = Self.lingeringBytes
            while room > 0 {
                guard let count = try buffer.withUnsafeMutableBytes({ try socket.read(into: $0) }) else {
                    try await socket.waitToRead(until: deadline)
                    continue
                }
                if count == 0 { return }
                room -= count
            }
        } catch {
            // The client has gone, or had its time.
        }
    }

    /// The answer to a request in clear, as from a browser that was given `http:` instead of `https:`.
    private static let plainAnswer = Array(
        """
        HTTP/1.1 400 Bad Request\r
        Content-Type: text/plain\r
        Content-Length: 41\r
        Cache-Control: no-store\r
        Connection: close\r
        \r
        This port speaks TLS; ask it with https.\n
        """.utf8
    )
}
