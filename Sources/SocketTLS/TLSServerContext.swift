internal import COpenSSL

/// A server's settings for TLS 1.2 and 1.3: identities, protocols, and the authorities of client
/// certificates.
///
/// A new certificate needs a new context: open connections keep their old one.
///
/// `@unchecked Sendable`: nothing changes after `init`, and OpenSSL allows any thread to make
/// sessions of a context.
package final class TLSServerContext: @unchecked Sendable {
    private let identities: [TLSIdentity]
    /// The contexts of the identities, identical except for the certificate. Each session begins
    /// with the first context.
    private let contexts: [Owned]
    /// The protocols in the wire format of RFC 7301, in order of preference.
    private let wireProtocols: [UInt8]
    private let ticketKeys: TicketKeys

    /// Makes a context with one or more identities. A client gets the identity for the name that
    /// it requests, or the first one if no identity matches.
    ///
    /// `protocols` are for ALPN, in order of preference; a client that offers only others is
    /// refused. If `clientAuthorities` is not `nil`, clients may present a certificate; an invalid
    /// certificate ends the handshake.
    package init(
        identities: [TLSIdentity],
        protocols: [String],
        clientAuthorities: TLSClientAuthorities? = nil,
        ticketKeys: TicketKeys? = nil
    ) throws(OpenSSLError) {
        precondition(!identities.isEmpty, "a TLS server needs an identity")
        self.identities = identities
        self.wireProtocols = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        self.ticketKeys = if let ticketKeys { ticketKeys } else { try TicketKeys() }
        var contexts: [Owned] = []
        for identity in identities { contexts.append(try identity.makeContext()) }
        self.contexts = contexts
        for context in contexts { try self.configure(context.pointer, clientAuthorities) }
    }

    /// The context of a new session, before the client's name is known.
    var pointer: OpaquePointer { self.contexts[0].pointer }

    /// Mozilla's "intermediate" list of version 5.7, without its ciphers that do not use ECDHE.
    private static let ciphers = """
        ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:\
        ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305
        """
    private static let groups = "X25519:P-256:P-384"

    private func configure(_ context: OpaquePointer, _ authorities: TLSClientAuthorities?) throws(OpenSSLError) {
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        try OpenSSLError.check("SSL_CTX_set_cipher_list", SSL_CTX_set_cipher_list(context, Self.ciphers))
        try OpenSSLError.check("SSL_CTX_set1_groups_list", copenssl_set_groups(context, Self.groups))
        // One read of the socket serves many small records.
        SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        // The first mode allows the caller's bytes to move in memory between two attempts of one
        // write. The second frees the buffers of idle connections.
        let modes = SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
        SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(modes), nil)
        SSL_CTX_set_options(context, copenssl_server_options())
        // Sessions are stored in tickets; the client uses one at a time.
        SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        SSL_CTX_set_num_tickets(context, 1)
        self.ticketKeys.install(in: context)
        let origin = authorities?.fingerprint ?? [0]
        SSL_CTX_set_session_id_context(context, origin, UInt32(origin.count))
        try authorities?.install(in: context)
        self.chooseProtocols(of: context)
        if self.identities.count > 1 { self.chooseIdentity(of: context) }
    }

    // MARK: - The name that the client asks for

    /// The context of the first identity for `name`; an exact match comes before a wildcard.
    private func context(for name: UnsafePointer<CChar>) -> OpaquePointer? {
        for match in [TLSIdentity.NameMatch.exact, .wildcard] {
            if let index = self.identities.firstIndex(where: { $0.isFor(name, match) }) {
                return self.contexts[index].pointer
            }
        }
        return nil
    }

    private func chooseIdentity(of context: OpaquePointer) {
        copenssl_set_server_name_callback(
            context,
            { session, _, server in
                guard let server, let name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name) else {
                    return SSL_TLSEXT_ERR_OK
                }
                let context = Unmanaged<TLSServerContext>.fromOpaque(server).takeUnretainedValue()
                if let chosen = context.context(for: name) { SSL_set_SSL_CTX(session, chosen) }
                return SSL_TLSEXT_ERR_OK
            },
            // This object need not be retained here, because every stream of the context retains
            // it.
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    private func chooseProtocols(of context: OpaquePointer) {
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, chosenLength, offered, offeredLength, server in
                guard let server else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                let wanted = Unmanaged<TLSServerContext>.fromOpaque(server).takeUnretainedValue().wireProtocols
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
                    // The result points into `wanted`, which stays in memory as long as the
                    // context.
                    chosen?.pointee = UnsafePointer(found)
                    return SSL_TLSEXT_ERR_OK
                }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }
}
