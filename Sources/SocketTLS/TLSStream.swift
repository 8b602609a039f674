internal import COpenSSL
package import Reactor

/// The server's side of a TLS connection.
///
/// After a write that returned `nil`, the caller must try again with the same bytes, as some of
/// them may already be encrypted. Use it on the loop only.
package final class TLSStream: ByteStream {
    package let socket: SocketStream

    private let context: TLSServerContext
    private let wire: TLSWire
    private let session: OpaquePointer
    /// The number of the caller's bytes that are encrypted. They count as written only after all
    /// of them are sent.
    private var sealedCount = 0
    private var handshakeIsDone = false
    /// Whether `close_notify` was sent to the peer.
    private var hasSentCloseNotify = false
    /// Whether the handshake failed because the peer has sent an unencrypted request.
    private(set) var peerSpeaksHTTP = false
    package private(set) var certificateName: String?
    package let isEncrypted = true

    /// How many bytes of one write are encrypted at a time: four full records.
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

    /// Agrees with the client on keys and protocol; before that, nothing can be read or written.
    ///
    /// Throws `StreamError` if server and client cannot agree, `WaitError` at the deadline or on
    /// cancellation.
    package func handshake(until deadline: ContinuousClock.Instant) async throws {
        while true {
            ERR_clear_error()
            self.wire.beginTurn()
            let result = SSL_do_handshake(self.session)
            let needsMore = SSL_get_error(self.session, result) == SSL_ERROR_WANT_READ
            // The failure is read before any wait: the error queue belongs to the thread, and
            // other streams use the queue during the wait.
            let failure = result == 1 || needsMore ? nil : self.handshakeFailure()
            while try !self.wire.flush() { try await self.socket.waitToWrite(until: deadline) }
            if let failure { throw failure }
            if result == 1 { break }
            try await self.waitToRead(until: deadline)
        }
        self.wire.countHandshakeMessages(of: self.session)
        self.certificateName = try self.readCertificateName()
        self.handshakeIsDone = true
    }

    /// The protocol that ALPN chose; `nil` if the client offered none.
    package var chosenProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(self.session, &name, &length)
        guard let name else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int? {
        ERR_clear_error()
        self.wire.beginTurn()
        var count = 0
        let result = SSL_read_ex(self.session, buffer.baseAddress, buffer.count, &count)
        if result == 1 {
            self.wire.contentHasCome()
            return count
        }
        if let failure = self.wire.failure { throw failure }
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

    package func whenReadable(until deadline: ContinuousClock.Instant, resume waiter: Waiter) {
        if self.wire.turnIsOver {
            self.socket.descriptor.loop.afterOthers(resume: waiter)
        } else {
            self.socket.whenReadable(until: deadline, resume: waiter)
        }
    }

    package func wakeReader() {
        self.socket.wakeReader()
    }

    package func waitToWrite(until deadline: ContinuousClock.Instant) async throws(WaitError) {
        try await self.socket.waitToWrite(until: deadline)
    }

    /// Sends `close_notify`, if the socket accepts it at once.
    package func endWriting() {
        if self.sendCloseNotify() { self.socket.endWriting() }
    }

    package func close() {
        _ = self.sendCloseNotify()
        self.socket.close()
    }

    /// Sends `close_notify`, unless it was already sent. Returns whether the socket has taken all
    /// unsent bytes.
    private func sendCloseNotify() -> Bool {
        guard self.handshakeIsDone else { return true }
        if !self.hasSentCloseNotify {
            self.hasSentCloseNotify = true
            ERR_clear_error()
            SSL_shutdown(self.session)
        }
        // A socket that has failed accepts no bytes.
        return (try? self.wire.flush()) == true
    }

    /// Throws `StreamError` if a session is resumed after the end of its certificate's validity.
    private func readCertificateName() throws(StreamError) -> String? {
        guard let certificate = SSL_get0_peer_certificate(self.session) else { return nil }
        guard
            SSL_get_verify_result(self.session) == X509_V_OK,
            X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0
        else { throw StreamError("TLS handshake: the client's certificate is no longer valid") }
        return X509Name.commonName(of: X509_get_subject_name(certificate))
    }

    private func handshakeFailure() -> StreamError {
        self.peerSpeaksHTTP = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_HTTP_REQUEST
        let failure = self.failure("handshake")
        let verdict = SSL_get_verify_result(self.session)
        guard verdict != X509_V_OK, let reason = X509_verify_cert_error_string(verdict) else { return failure }
        return StreamError("\(failure) (\(String(cString: reason)))")
    }

    private func failure(_ call: String) -> StreamError {
        self.wire.failure ?? StreamError(OpenSSLError("TLS \(call)").description)
    }
}
