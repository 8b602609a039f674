import COpenSSL
import Reactor
import SocketTLS

/// The client's side of a TLS connection, straight on OpenSSL, trusting anybody.
final class TLSTestClient {
    private let socket: SocketStream
    private let context: OpaquePointer
    private let session: OpaquePointer

    init(_ socket: SocketStream, protocols: [String], newest: Int32) throws {
        self.socket = socket
        self.context = try OpenSSLError.check("SSL_CTX_new", SSL_CTX_new(TLS_client_method()))
        // Level 0, so that it is the server that refuses what is old.
        SSL_CTX_set_cipher_list(self.context, "DEFAULT:@SECLEVEL=0")
        SSL_CTX_ctrl(self.context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_VERSION), nil)
        SSL_CTX_ctrl(self.context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(newest), nil)
        let names = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        if !names.isEmpty { SSL_CTX_set_alpn_protos(self.context, names, UInt32(names.count)) }
        self.session = try OpenSSLError.check("SSL_new", SSL_new(self.context))
        SSL_set_fd(self.session, socket.descriptor.number)
    }

    deinit {
        SSL_free(self.session)
        SSL_CTX_free(self.context)
    }

    func connect() async throws {
        while true {
            ERR_clear_error()
            let result = SSL_connect(self.session)
            if result == 1 { return }
            guard SSL_get_error(self.session, result) == SSL_ERROR_WANT_READ else { throw OpenSSLError("SSL_connect") }
            try await self.socket.waitToRead(until: .now + .seconds(10))
        }
    }

    func write(_ text: String) throws {
        let bytes = Array(text.utf8)
        try OpenSSLError.check("SSL_write", SSL_write(self.session, bytes, Int32(bytes.count)))
    }

    /// What has come; empty at the end.
    func read() async throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            ERR_clear_error()
            let count = SSL_read(self.session, &buffer, Int32(buffer.count))
            if count > 0 { return Array(buffer[..<Int(count)]) }
            switch SSL_get_error(self.session, count) {
            case SSL_ERROR_ZERO_RETURN: return []
            case SSL_ERROR_WANT_READ: try await self.socket.waitToRead(until: .now + .seconds(10))
            default: throw OpenSSLError("SSL_read")
            }
        }
    }

    /// Whether the server said that it will send no more.
    var wasNotified: Bool { SSL_get_shutdown(self.session) & SSL_RECEIVED_SHUTDOWN != 0 }

    /// Goes over to new keys with the next write, and asks the server to do so too.
    func askForNewKeys() {
        SSL_key_update(self.session, SSL_KEY_UPDATE_REQUESTED)
    }

    /// Closes the socket without a word.
    func close() {
        self.socket.close()
    }
}
