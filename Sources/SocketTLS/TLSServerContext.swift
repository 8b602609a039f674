internal import COpenSSL

/// The certificate, key and protocols with which a server meets its TLS clients; TLS 1.2 and newer.
///
/// A new certificate is a new context: connections that run keep the one they began with.
///
/// `@unchecked Sendable`: the context is not changed after `init`, and OpenSSL allows any thread to make sessions of it.
package final class TLSServerContext: @unchecked Sendable {
    let pointer: OpaquePointer
    /// The protocols in the wire form of RFC 7301, most wanted first.
    private let wireProtocols: [UInt8]

    /// Reads a certificate with its chain, leaf first, and its private key, both PEM.
    ///
    /// `protocols` are offered to ALPN, most wanted first; a client that names only others is refused.
    package init(certificates: String, privateKey: String, protocols: [String]) throws(OpenSSLError) {
        self.wireProtocols = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        self.pointer = try OpenSSLError.check("SSL_CTX_new", SSL_CTX_new(TLS_server_method()))
        SSL_CTX_ctrl(self.pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        // One read of the socket for many small records.
        SSL_CTX_ctrl(self.pointer, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        // The caller's bytes may have moved between two tries of one write, and idle connections need no buffers.
        let modes = SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
        SSL_CTX_ctrl(self.pointer, SSL_CTRL_MODE, Int(modes), nil)
        // HTTP says itself where a message ends, so a missing close_notify cannot pass for one.
        SSL_CTX_set_options(self.pointer, copenssl_no_renegotiation() | copenssl_ignore_unexpected_eof())
        try self.use(certificates: certificates)
        let key = try PEM.readPrivateKey(privateKey)
        defer { EVP_PKEY_free(key) }
        try OpenSSLError.check("SSL_CTX_use_PrivateKey", SSL_CTX_use_PrivateKey(self.pointer, key))
        try OpenSSLError.check("SSL_CTX_check_private_key", SSL_CTX_check_private_key(self.pointer))
        self.chooseProtocols()
    }

    deinit {
        SSL_CTX_free(self.pointer)
    }

    private func use(certificates: String) throws(OpenSSLError) {
        for (index, certificate) in try PEM.readCertificates(certificates).enumerated() {
            defer { X509_free(certificate) }
            if index == 0 {
                try OpenSSLError.check("SSL_CTX_use_certificate", SSL_CTX_use_certificate(self.pointer, certificate))
            } else {
                let added = SSL_CTX_ctrl(self.pointer, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate))
                try OpenSSLError.check("SSL_CTX_add1_chain_cert", Int32(added))
            }
        }
    }

    private func chooseProtocols() {
        // Unretained is enough: every stream of this context keeps it.
        SSL_CTX_set_alpn_select_cb(
            self.pointer,
            { _, chosen, chosenLength, offered, offeredLength, context in
                guard let context else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                let wanted = Unmanaged<TLSServerContext>.fromOpaque(context).takeUnretainedValue().wireProtocols
                return wanted.withUnsafeBufferPointer { wanted in
                    var found: UnsafeMutablePointer<UInt8>?
                    let length = UInt32(wanted.count)
                    let result = SSL_select_next_proto(
                        &found,
                        chosenLength,
                        wanted.baseAddress,
                        length,
                        offered,
                        offeredLength
                    )
                    guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                    // Points into `wanted`, which lives as long as the context.
                    chosen?.pointee = UnsafePointer(found)
                    return SSL_TLSEXT_ERR_OK
                }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }
}
