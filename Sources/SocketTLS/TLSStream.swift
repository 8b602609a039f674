internal import COpenSSL
package import Reactor

/// The server's side of a TLS connection.
///
/// A write that returned `nil` must be tried again with the same bytes, as some of them may already be encrypted.
/// On the loop only.
package final class TLSStream: ByteStream {
    package let socket: SocketStream

    private let context: TLSServerContext
    private let wire: TLSWire
    private let session: OpaquePointer
    /// How many bytes of the caller's are encrypted but not all sent; they count as written when they are.
    private var sealedCount = 0
    private var handshakeIsDone = false

    /// How much of one write is encrypted at a time: four full records.
    private static let writeLimit = 64 * 1024

    package init(_ socket: SocketStream, context: TLSServerContext) throws(OpenSSLError) {
        self.socket = socket
        self.context = context
        self.wire = TLSWire(socket)
        self.session = try OpenSSLError.check("SSL_new", SSL_new(context.pointer))
        let bio = try self.wire.makeBIO()
        SSL_set_bio(self.session, bio, bio)
        SSL_set_accept_state(self.session)
    }

    deinit {
        SSL_free(self.session)
    }

    /// Agrees with the client on keys and protocol; nothing can be read or written before.
    ///
    /// Throws `StreamError` if they cannot agree, `WaitError` at the deadline or on cancellation.
    package func handshake(until deadline: ContinuousClock.Instant) async throws {
        while true {
            ERR_clear_error()
            let result = SSL_do_handshake(self.session)
            let error = SSL_get_error(self.session, result)
            while try !self.wire.flush() { try await self.socket.waitToWrite(until: deadline) }
            if result == 1 { break }
            guard error == SSL_ERROR_WANT_READ else { throw self.failure("handshake") }
            try await self.socket.waitToRead(until: deadline)
        }
        self.handshakeIsDone = true
    }

    /// The protocol that ALPN chose; `nil` if the client did not ask.
    package var chosenProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(self.session, &name, &length)
        guard let name else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int? {
        ERR_clear_error()
        var count = 0
        let result = SSL_read_ex(self.session, buffer.baseAddress, buffer.count, &count)
        if result == 1 { return count }
        switch SSL_get_error(self.session, result) {
        case SSL_ERROR_WANT_READ: return nil
        case SSL_ERROR_ZERO_RETURN: return 0
        default: throw self.failure("read")
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Int? {
        guard try self.wire.flush() else { return nil }
        if self.sealedCount == 0, !bytes.isEmpty {
            ERR_clear_error()
            let piece = min(bytes.count, Self.writeLimit)
            guard SSL_write_ex(self.session, bytes.baseAddress, piece, &self.sealedCount) == 1 else {
                throw self.failure("write")
            }
            guard self.wire.isDrained else { return nil }
        }
        defer { self.sealedCount = 0 }
        return self.sealedCount
    }

    package func waitToRead(until deadline: ContinuousClock.Instant) async throws(WaitError) {
        try await self.socket.waitToRead(until: deadline)
    }

    package func waitToWrite(until deadline: ContinuousClock.Instant) async throws(WaitError) {
        try await self.socket.waitToWrite(until: deadline)
    }

    /// Sends `close_notify`, as far as the socket takes it at once.
    package func endWriting() {
        guard self.handshakeIsDone else { return self.socket.endWriting() }
        ERR_clear_error()
        SSL_shutdown(self.session)
        // A socket that has failed needs no end.
        if (try? self.wire.flush()) == true { self.socket.endWriting() }
    }

    package func close() {
        self.socket.close()
    }

    private func failure(_ call: String) -> StreamError {
        self.wire.failure ?? StreamError(OpenSSLError("TLS \(call)").description)
    }
}
