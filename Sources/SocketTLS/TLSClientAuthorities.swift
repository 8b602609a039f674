internal import COpenSSL

/// The authorities whose certificates clients may present.
package struct TLSClientAuthorities: Sendable {
    private let certificates: [Owned]
    /// The revoked certificates; `nil` if no certificate counts as revoked.
    private let revoked: TLSRevocationLists?
    /// A hash of the authorities and the lists. A session that began with one fingerprint is not
    /// resumed with another.
    let fingerprint: [UInt8]

    /// Reads certificates in PEM. Each of them is trusted, whether or not it is a root.
    package init(certificates: String, revoked: TLSRevocationLists? = nil) throws(OpenSSLError) {
        self.certificates = try PEM.readCertificates(certificates)
        self.revoked = revoked
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        // PEM text contains no NUL, so a NUL separates the two texts.
        let bytes = Array((certificates + (revoked.map { "\0\($0.text)" } ?? "")).utf8)
        try OpenSSLError.check("EVP_Digest", EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil))
        self.fingerprint = digest
    }

    /// The validity of the certificate that expires first; `nil` if none can be read.
    package var validity: TLSValidity? { X509Time.first(of: self.certificates) }

    /// Makes a context ask clients for a certificate. A client need not have a certificate, but an
    /// invalid certificate makes the handshake fail.
    func install(in context: OpaquePointer) throws(OpenSSLError) {
        let store = SSL_CTX_get_cert_store(context)
        for certificate in self.certificates {
            try OpenSSLError.check("X509_STORE_add_cert", X509_STORE_add_cert(store, certificate.pointer))
            // Informs the client which of its certificates are acceptable.
            try OpenSSLError.check("SSL_CTX_add_client_CA", SSL_CTX_add_client_CA(context, certificate.pointer))
        }
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        try self.revoked?.install(in: store)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    }
}
