internal import COpenSSL

/// A server's certificate with its chain, and its private key.
package struct TLSIdentity: Sendable {
    /// The certificates of the chain; the server's own certificate is first.
    let chain: [Owned]
    let privateKey: Owned

    /// Reads two texts in PEM: a chain that begins with the server's own certificate, and its
    /// private key.
    ///
    /// Throws `TLSIdentityError` if the chain or the key cannot be used, or if they do not belong
    /// together.
    package init(certificates: String, privateKey: String) throws(TLSIdentityError) {
        do throws(OpenSSLError) {
            self.chain = try PEM.readCertificates(certificates)
        } catch {
            throw .certificates("contains no readable PEM certificate (\(error))")
        }
        if privateKey.contains("ENCRYPTED") { throw .privateKey("is encrypted; use a key without a password") }
        do throws(OpenSSLError) {
            self.privateKey = try PEM.readPrivateKey(privateKey)
        } catch {
            throw .privateKey("contains no readable PEM private key (\(error))")
        }
        guard X509_check_private_key(self.leaf.pointer, self.privateKey.pointer) == 1 else {
            ERR_clear_error()
            throw .otherKey(objection: self.objection)
        }
        do throws(OpenSSLError) {
            // Creating a context detects certificates that the security level refuses, such as one
            // with a short key, so that the error can name the certificate.
            _ = try self.makeContext()
        } catch {
            throw .certificates("cannot be used (\(error))")
        }
    }

    /// The reason why clients do not accept the certificate at present: it has expired or is not
    /// valid yet.
    package var objection: String? {
        if let end = X509_get0_notAfter(self.leaf.pointer), X509_cmp_current_time(end) < 0 {
            return "has expired: it was valid until \(Self.text(of: end))"
        }
        if let start = X509_get0_notBefore(self.leaf.pointer), X509_cmp_current_time(start) > 0 {
            return "is not valid before \(Self.text(of: start))"
        }
        return nil
    }

    /// Of the chain's certificates, the validity of the one that expires first; `nil` if none can
    /// be read.
    package var validity: TLSValidity? { X509Time.first(of: self.chain) }

    /// The rule for comparing a certificate's name with the name that a client requests.
    enum NameMatch {
        case exact
        /// A star stands for the whole first label (RFC 9525 section 6.3).
        case wildcard
    }

    /// Whether the certificate is valid for this DNS name, by its alternative names only.
    func isFor(_ name: UnsafePointer<CChar>, _ match: NameMatch) -> Bool {
        var flags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS
        if match == .exact { flags |= X509_CHECK_FLAG_NO_WILDCARDS }
        return X509_check_host(self.leaf.pointer, name, 0, UInt32(flags), nil) == 1
    }

    /// Makes a context with this certificate and nothing else.
    func makeContext() throws(OpenSSLError) -> Owned {
        let context = Owned(try OpenSSLError.check("SSL_CTX_new", SSL_CTX_new(TLS_server_method())), SSL_CTX_free)
        let pointer = context.pointer
        try OpenSSLError.check("SSL_CTX_use_certificate", SSL_CTX_use_certificate(pointer, self.leaf.pointer))
        for certificate in self.chain.dropFirst() {
            let added = SSL_CTX_ctrl(pointer, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate.pointer))
            try OpenSSLError.check("SSL_CTX_add1_chain_cert", Int32(clamping: added))
        }
        try OpenSSLError.check("SSL_CTX_use_PrivateKey", SSL_CTX_use_PrivateKey(pointer, self.privateKey.pointer))
        return context
    }

    private var leaf: Owned { self.chain[0] }

    private static func text(of time: UnsafePointer<ASN1_TIME>) -> String {
        let text = try? PEM.text { sink in ASN1_TIME_print(sink, time) }
        return text ?? "a time that cannot be read"
    }
}

/// The reason why a certificate or its key cannot be used; a text that can follow the name of the
/// file.
package enum TLSIdentityError: Error, Hashable {
    case certificates(String)
    case privateKey(String)
    /// The key belongs to another certificate. The objection says that the first certificate of
    /// the chain has expired or is not valid yet; `nil` if it is valid.
    case otherKey(objection: String?)
}
