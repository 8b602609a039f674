import COpenSSL
import PushSimulators
import Reactor
import SocketTLS

/// The client's side of a TLS connection, made with OpenSSL. It trusts every server. Use it only
/// on its event loop.
///
/// OpenSSL reads from memory and writes to memory, so that the test decides how the bytes are sent
/// over the socket.
final class TLSTestClient {
    struct Options: Sendable {
        var protocols = ["http/1.1"]
        var oldest = TLS1_VERSION
        var newest = TLS1_3_VERSION
        /// The cipher suites for TLS 1.2. At security level 0, the client offers even weak suites,
        /// so that the server must refuse them.
        var ciphers = "DEFAULT:@SECLEVEL=0"
        var groups: String?
        var serverName: String?
        var identity: TestAuthority.Identity?
        /// The session of an earlier connection, which the client resumes.
        var session: Session?
        /// The number of bytes that the client sends at a time, with a turn of the event loop in
        /// between. `nil` means all bytes at once.
        var portion: Int?
    }

    /// A session that can be resumed. Tests only pass it on.
    final class Session: @unchecked Sendable {
        fileprivate let pointer: OpaquePointer

        fileprivate init(_ pointer: OpaquePointer) {
            self.pointer = pointer
        }

        deinit {
            SSL_SESSION_free(self.pointer)
        }
    }

    private let socket: SocketStream
    private let portion: Int?
    private let context: OpaquePointer
    private let session: OpaquePointer
    private let (incoming, outgoing) = (BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()))

    init(_ socket: SocketStream, _ options: Options = Options()) throws {
        self.socket = socket
        self.portion = options.portion
        self.context = try OpenSSLError.check("SSL_CTX_new", SSL_CTX_new(TLS_client_method()))
        SSL_CTX_set_cipher_list(self.context, options.ciphers)
        SSL_CTX_ctrl(self.context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(options.oldest), nil)
        SSL_CTX_ctrl(self.context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(options.newest), nil)
        let names = options.protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        if !names.isEmpty { SSL_CTX_set_alpn_protos(self.context, names, UInt32(names.count)) }
        self.session = try OpenSSLError.check("SSL_new", SSL_new(self.context))
        SSL_set_bio(self.session, self.incoming, self.outgoing)
        SSL_set_connect_state(self.session)
        // For OpenSSL, an empty buffer must not mean the end of the connection.
        BIO_ctrl(self.incoming, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
        if let groups = options.groups { self.set(SSL_CTRL_SET_GROUPS_LIST, 0, groups) }
        if let name = options.serverName { self.set(SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name) }
        if let identity = options.identity { try self.use(identity) }
        if let session = options.session { SSL_set_session(self.session, session.pointer) }
    }

    deinit {
        // Without this, OpenSSL would consider the session as failed, and not resume it.
        SSL_set_shutdown(self.session, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        SSL_free(self.session)
        SSL_CTX_free(self.context)
    }

    private func set(_ command: Int32, _ number: Int32, _ text: String) {
        var text = text.utf8CString
        text.withUnsafeMutableBytes { _ = SSL_ctrl(self.session, command, Int(number), $0.baseAddress) }
    }

    private func use(_ identity: TestAuthority.Identity) throws {
        for (text, read) in [(identity.certificate, true), (identity.privateKey, false)] {
            let source = BIO_new(BIO_s_mem())
            defer { BIO_free(source) }
            BIO_write(source, text, Int32(text.utf8.count))
            if read {
                let certificate = PEM_read_bio_X509(source, nil, nil, nil)
                defer { X509_free(certificate) }
                try OpenSSLError.check("SSL_use_certificate", SSL_use_certificate(self.session, certificate))
            } else {
                let key = PEM_read_bio_PrivateKey(source, nil, nil, nil)
                defer { EVP_PKEY_free(key) }
                try OpenSSLError.check("SSL_use_PrivateKey", SSL_use_PrivateKey(self.session, key))
            }
        }
    }

    // MARK: Talking

    func connect() async throws {
        while true {
            ERR_clear_error()
            let result = SSL_do_handshake(self.session)
            let error = SSL_get_error(self.session, result)
            try await self.flush()
            if result == 1 { return }
            guard error == SSL_ERROR_WANT_READ else { throw OpenSSLError("SSL_do_handshake") }
            guard try await self.receive() else { throw OpenSSLError("the server has hung up") }
        }
    }

    func write(_ text: String) async throws {
        let bytes = Array(text.utf8)
        try OpenSSLError.check("SSL_write", SSL_write(self.session, bytes, Int32(bytes.count)))
        try await self.flush()
    }

    /// Waits for bytes and returns them. The array is empty at the end of the connection.
    func read() async throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            ERR_clear_error()
            let count = SSL_read(self.session, &buffer, Int32(buffer.count))
            let error = SSL_get_error(self.session, count)
            try await self.flush()
            if count > 0 { return Array(buffer[..<Int(count)]) }
            switch error {
            case SSL_ERROR_ZERO_RETURN: return []
            case SSL_ERROR_WANT_READ: if try await !self.receive() { return [] }
            default: throw OpenSSLError("SSL_read")
            }
        }
    }

    /// Sends the bytes that OpenSSL has written.
    private func flush() async throws {
        var buffer = [UInt8](repeating: 0, count: self.portion ?? 64 * 1024)
        while true {
            let count = BIO_read(self.outgoing, &buffer, Int32(buffer.count))
            guard count > 0 else { return }
            try await self.socket.send(buffer[..<Int(count)])
            if self.portion != nil { await Task.yield() }
        }
    }

    /// Passes the next bytes to OpenSSL. Returns `false` at the end of the connection.
    private func receive() async throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            if let count = try buffer.withUnsafeMutableBytes({ try self.socket.read(into: $0) }) {
                BIO_write(self.incoming, buffer, Int32(count))
                return count > 0
            }
            try await self.socket.waitToRead(until: .now + .seconds(30))
        }
    }

    /// Closes the socket without notifying the server.
    func close() {
        self.socket.close()
    }

    /// Notifies the server that the client will send nothing more.
    func endWriting() async throws {
        SSL_shutdown(self.session)
        try await self.flush()
    }

    /// Switches to new keys with the next write, and asks the server to do the same.
    func askForNewKeys() {
        SSL_key_update(self.session, SSL_KEY_UPDATE_REQUESTED)
    }

    /// Sends a separate key update without content.
    func updateKeys() async throws {
        SSL_key_update(self.session, SSL_KEY_UPDATE_REQUESTED)
        try OpenSSLError.check("SSL_do_handshake", SSL_do_handshake(self.session))
        try await self.flush()
    }

    /// Starts another handshake within the connection, as TLS 1.2 permits.
    func renegotiate() async throws {
        try OpenSSLError.check("SSL_renegotiate", SSL_renegotiate(self.session))
        try await self.connect()
    }

    // MARK: Result of the handshake

    var version: Int32 { SSL_version(self.session) }

    var cipher: String? {
        SSL_CIPHER_get_name(SSL_get_current_cipher(self.session)).map { String(cString: $0) }
    }

    var wasResumed: Bool { SSL_session_reused(self.session) == 1 }

    /// The session that a later connection can resume. With TLS 1.3, there is none before the
    /// first read.
    var currentSession: Session? { SSL_get1_session(self.session).map { Session($0) } }

    /// Whether the server has notified the client that it will send no more.
    var wasNotified: Bool { SSL_get_shutdown(self.session) & SSL_RECEIVED_SHUTDOWN != 0 }

    /// The group of the key agreement, by OpenSSL's number.
    var group: Int { SSL_ctrl(self.session, SSL_CTRL_GET_NEGOTIATED_GROUP, 0, nil) }

    /// The common name in the certificate that the server presented.
    var serverName: String? {
        guard let certificate = SSL_get0_peer_certificate(self.session) else { return nil }
        var text = [CChar](repeating: 0, count: 256)
        let name = X509_get_subject_name(certificate)
        let length = X509_NAME_get_text_by_NID(name, NID_commonName, &text, Int32(text.count))
        return length < 0 ? nil : String(decoding: text.prefix(Int(length)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension SocketStream {
    func send(_ bytes: ArraySlice<UInt8>) async throws {
        var rest = bytes
        while !rest.isEmpty {
            if let count = try rest.withUnsafeBytes({ try self.write($0) }) {
                rest.removeFirst(count)
            } else {
                try await self.waitToWrite(until: .now + .seconds(30))
            }
        }
    }
}
