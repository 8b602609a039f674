internal import COpenSSL
internal import Reactor

/// The socket as OpenSSL sees it: reads may find no bytes, writes always succeed.
///
/// `unsent` keeps the bytes that the socket does not take. So OpenSSL never stops in the middle of
/// a record. A read that makes OpenSSL answer, for instance to a key update, never waits for a
/// write. Use this object on the loop only.
final class TLSWire {
    /// The maximum number of unsent bytes, which is more than one write of the stream can leave
    /// unsent. Only a peer that sends and never reads exceeds this limit.
    private static let unsentLimit = 256 * 1024

    /// The largest number of bytes that one OpenSSL call receives. Without this limit, a call
    /// would continue as long as records have no content.
    private static let receivedPerTurn = 65_536
    /// The largest number of handshake messages in a row, such as key updates, after the
    /// handshake. Each message costs the server far more work than the peer. Other implementations
    /// allow the same number.
    private static let messagesWithoutContent = 16

    private let socket: SocketStream
    private var unsent: [UInt8] = []
    private var sentCount = 0
    /// Whether the peer has ended its side of the socket.
    private var isEnded = false
    private var receivedInTurn = 0
    private var handshakeMessages = 0
    /// Whether this connection's turn is over: the wire then tells OpenSSL that there are no
    /// bytes, even if there are, so that other connections get their turn.
    private(set) var turnIsOver = false
    /// The reason why the socket can no longer be used; `nil` while it can.
    private(set) var failure: StreamError?

    init(_ socket: SocketStream) {
        self.socket = socket
    }

    /// Makes the BIO through which OpenSSL calls this wire. The BIO does not retain the wire.
    func makeBIO() throws(OpenSSLError) -> OpaquePointer {
        let bio = try OpenSSLError.check("BIO_new", BIO_new(Self.method))
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    /// Whether everything written has reached the socket.
    var isDrained: Bool { self.unsent.isEmpty }

    /// Sends the unsent bytes; returns `false` if the socket does not accept all of them now.
    func flush() throws(StreamError) -> Bool {
        if let failure { throw failure }
        if self.unsent.isEmpty { return true }
        while self.sentCount < self.unsent.count {
            let result = self.unsent.withUnsafeBytes { unsent in
                self.attempt { () throws(StreamError) in
                    try self.socket.write(UnsafeRawBufferPointer(rebasing: unsent[self.sentCount...]))
                }
            }
            if let failure { throw failure }
            guard let count = result else { return false }
            self.sentCount += count
        }
        self.unsent.removeAll()
        self.sentCount = 0
        return true
    }

    /// Must be called before each OpenSSL call that receives.
    func beginTurn() {
        self.receivedInTurn = 0
        self.turnIsOver = false
    }

    func contentHasCome() {
        self.handshakeMessages = 0
    }

    /// Makes OpenSSL report each handshake message from here on, and ends a connection that sends
    /// too many in a row.
    func countHandshakeMessages(of session: OpaquePointer) {
        SSL_set_msg_callback(session) { isSent, _, type, _, _, session, _ in
            guard isSent == 0, type == SSL3_RT_HANDSHAKE, let session else { return }
            guard let wire = TLSWire.of(SSL_get_rbio(session)) else { return }
            wire.handshakeMessages += 1
            guard wire.handshakeMessages > TLSWire.messagesWithoutContent else { return }
            wire.failure = StreamError("the peer sends TLS handshake messages and no content")
            // Only this call stops a read that is in progress.
            SSL_set_shutdown(session, SSL_get_shutdown(session) | SSL_RECEIVED_SHUTDOWN)
        }
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard self.receivedInTurn < Self.receivedPerTurn else {
            self.turnIsOver = true
            return nil
        }
        let count = self.attempt { () throws(StreamError) in try self.socket.read(into: buffer) }
        if count == 0 { self.isEnded = true }
        self.receivedInTurn += count ?? 0
        return count
    }

    private func send(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while self.unsent.isEmpty, !rest.isEmpty {
            let result = self.attempt { () throws(StreamError) in
                try self.socket.write(UnsafeRawBufferPointer(rebasing: rest))
            }
            guard let count = result else { break }
            rest = rest.dropFirst(count)
        }
        self.unsent.append(contentsOf: rest)
        if self.unsent.count > Self.unsentLimit { self.failure = StreamError("the peer does not read") }
    }

    private func attempt(_ call: () throws(StreamError) -> Int?) -> Int? {
        do throws(StreamError) {
            return try call()
        } catch {
            self.failure = error
            return nil
        }
    }

    // MARK: - OpenSSL's side

    // `nonisolated(unsafe)` is safe: the value is made once, under the lock of `static let`, and
    // then only read.
    nonisolated(unsafe) private static let method: OpaquePointer? = {
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "Reactor socket")
        BIO_meth_set_read(method) { bio, buffer, count in
            BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
            guard let wire = TLSWire.of(bio), let buffer else { return -1 }
            let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
            if let received = wire.receive(into: bytes) { return Int32(received) }
            if wire.failure == nil { BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY) }
            return -1
        }
        BIO_meth_set_write(method) { bio, bytes, count in
            BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
            guard let wire = TLSWire.of(bio) else { return -1 }
            wire.send(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            return wire.failure == nil ? count : -1
        }
        BIO_meth_set_ctrl(method) { bio, command, _, _ in
            switch command {
            case BIO_CTRL_EOF: TLSWire.of(bio)?.isEnded == true ? 1 : 0
            case BIO_CTRL_FLUSH: 1
            default: 0
            }
        }
        return method
    }()

    private static func of(_ bio: OpaquePointer?) -> TLSWire? {
        guard let data = BIO_get_data(bio) else { return nil }
        return Unmanaged<TLSWire>.fromOpaque(data).takeUnretainedValue()
    }
}
