internal import Glibc
package import Reactor
internal import Synchronization

/// Makes the stream of each new connection with a TLS handshake.
///
/// ```swift
/// let acceptor = TLSAcceptor(context, handshakeTimeout: .seconds(10))
/// let server = HTTPServer(listeners: …, responder: …, opening: .init(makeStream: acceptor.accept))
/// ```
package final class TLSAcceptor: Sendable {
    /// A mutex protects the context, because the caller that replaces the context is not on a
    /// loop.
    private let context: Mutex<TLSServerContext>
    private let handshakeTimeout: Duration
    private let failures = Atomic(0)
    private let onFailure: @Sendable (any Error) -> Void

    /// How long the server waits until a refused client has read the TLS alert.
    private static let lingeringTime = Duration.seconds(2)
    private static let lingeringBytes = 65_536

    /// Calls `onFailure` on the connection's loop for each handshake that fails.
    package init(
        _ context: TLSServerContext,
        handshakeTimeout: Duration,
        onFailure: @escaping @Sendable (any Error) -> Void = { _ in }
    ) {
        self.context = Mutex(context)
        self.handshakeTimeout = handshakeTimeout
        self.onFailure = onFailure
    }

    /// The number of failed handshakes so far.
    package var failedHandshakes: Int { self.failures.load(ordering: .relaxed) }

    /// Uses another context for all connections from now on; open connections keep the old
    /// context.
    package func replace(with context: TLSServerContext) {
        self.context.withLock { $0 = context }
    }

    /// Runs the handshake with a client over the network. A unix socket stays unencrypted, since
    /// its bytes never reach the network.
    ///
    /// Throws `StreamError` if the handshake fails, `WaitError` at the deadline or on
    /// cancellation.
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

    /// Ends the server's side of the connection, and continues to read for a moment. If the socket
    /// were closed with unread bytes, the kernel would send a reset. The client's kernel would
    /// then drop the alert with the reason.
    private func part(from socket: SocketStream, speakingHTTP: Bool) async {
        let deadline = ContinuousClock.now + Self.lingeringTime
        do {
            // The answer fits in the empty buffer of a new connection; if the write fails, the
            // connection is lost anyway.
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
            // The client has closed the connection, or has not done so in time.
        }
    }

    /// The answer to an unencrypted request, as from a browser whose user entered `http:` instead
    /// of `https:`.
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
