internal import Reactor

/// Writes a streaming body; see `Response.StreamingBody`.
///
/// Call `write` and `wait` on the connection's loop only, and never two of them at once. Any
/// thread may call `ring`.
///
/// `@unchecked Sendable`: only the loop's thread uses the properties other than `loop`.
package final class BodyWriter: @unchecked Sendable {
    /// The reason why a wait has ended.
    package enum Awakening: Sendable, Hashable {
        case rung
        case timedOut
        /// The server stops, so the handler must end the body.
        case serverStops
    }

    /// The maximum number of bytes that a client may send while the response's body is written.
    /// These bytes belong to later requests.
    private static let unreadBytes = 65_536

    private let loop: EventLoop
    private let isChunked: Bool
    private var connection: Connection?
    private var isRung = false

    init(_ connection: Connection, isChunked: Bool) {
        self.loop = connection.loopState.loop
        self.isChunked = isChunked
        self.connection = connection
    }

    /// Sends a piece of the body, and returns once the socket has accepted all of it.
    ///
    /// Throws `ClientGone` if the client has closed the connection, or if the socket does not
    /// accept the piece within `writeTimeout`.
    package func write(_ bytes: [UInt8]) async throws(ClientGone) {
        // An empty chunk would end the body (RFC 9112 §7.1).
        guard !bytes.isEmpty else { return }
        guard let connection, await connection.write(self.isChunked ? Self.chunk(of: bytes) : bytes) else {
            self.connection = nil
            throw ClientGone()
        }
    }

    /// Waits until `ring()` is called, the deadline passes, or the server stops.
    ///
    /// Throws `ClientGone` as soon as the client ends its side of the connection: this is how a
    /// client that only listens ends the stream.
    package func wait(until deadline: ContinuousClock.Instant) async throws(ClientGone) -> Awakening {
        while let connection {
            if connection.loopState.isStopping { return .serverStops }
            if self.isRung {
                self.isRung = false
                return .rung
            }
            guard connection.keepUnread(upTo: Self.unreadBytes) else { break }
            do throws(WaitError) {
                try await connection.stream.waitToRead(until: deadline)
            } catch .timedOut {
                return .timedOut
            } catch {
                break
            }
        }
        self.connection = nil
        throw ClientGone()
    }

    /// Ends the current wait; without one, ends the next wait. Any thread may call this function.
    /// After the end of the body it has no effect.
    package func ring() {
        self.loop.execute {
            self.isRung = true
            self.connection?.stream.wakeReader()
        }
    }

    /// Ends the body. Returns `false` if the end can no longer reach the client.
    func end() async -> Bool {
        guard let connection = self.connection.take() else { return false }
        return self.isChunked ? await connection.write(Self.lastChunk) : true
    }

    /// Separates this writer from its connection, so that it can write nothing more.
    func detach() {
        self.connection = nil
    }

    // MARK: - Private

    private static let lastChunk = Array("0\r\n\r\n".utf8)

    private static func chunk(of bytes: [UInt8]) -> [UInt8] {
        var chunk: [UInt8] = []
        chunk.reserveCapacity(bytes.count + 20)
        chunk.append(contentsOf: String(bytes.count, radix: 16).utf8)
        chunk.append("\r\n")
        chunk.append(contentsOf: bytes)
        chunk.append("\r\n")
        return chunk
    }
}

/// The error for a client that no longer reads the body.
package struct ClientGone: Error, Hashable {
    package init() {}
}
