internal import COpenSSL

/// Certificates and keys in PEM.
package enum PEM {
    static func readPrivateKey(_ text: String) throws(OpenSSLError) -> Owned {
        let source = try self.source(text)
        defer { BIO_free(source) }
        ERR_clear_error()
        // Without a callback, OpenSSL would prompt on the terminal for the password of an
        // encrypted key.
        let key = PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil)
        return Owned(try OpenSSLError.check("PEM_read_bio_PrivateKey", key), EVP_PKEY_free)
    }

    /// Reads all certificates of the text; throws if there is none, or if one cannot be read.
    static func readCertificates(_ text: String) throws(OpenSSLError) -> [Owned] {
        try self.readAll(text, "PEM_read_bio_X509") { source in
            PEM_read_bio_X509(source, nil, nil, nil).map { Owned($0, X509_free) }
        }
    }

    /// Reads all revocation lists of the text; throws if there is none, or if one cannot be read.
    static func readRevocationLists(_ text: String) throws(OpenSSLError) -> [Owned] {
        try self.readAll(text, "PEM_read_bio_X509_CRL") { source in
            PEM_read_bio_X509_CRL(source, nil, nil, nil).map { Owned($0, X509_CRL_free) }
        }
    }

    private static func readAll(
        _ text: String,
        _ call: String,
        next: (OpaquePointer) -> Owned?
    ) throws(OpenSSLError) -> [Owned] {
        let source = try self.source(text)
        defer { BIO_free(source) }
        ERR_clear_error()
        var all: [Owned] = []
        while let next = next(source) { all.append(next) }
        // Reading stops with an error also at the end of the text. That error has this reason.
        let isAtEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
        guard isAtEnd, !all.isEmpty else { throw OpenSSLError(call) }
        ERR_clear_error()
        return all
    }

    /// Writes the key as PKCS#8, not encrypted.
    package static func write(privateKey: OpaquePointer) throws(OpenSSLError) -> String {
        try self.text { sink in PEM_write_bio_PrivateKey(sink, privateKey, nil, nil, 0, nil, nil) }
    }

    package static func write(certificate: OpaquePointer) throws(OpenSSLError) -> String {
        try self.text { sink in PEM_write_bio_X509(sink, certificate) }
    }

    package static func write(revocationList: OpaquePointer) throws(OpenSSLError) -> String {
        try self.text { sink in PEM_write_bio_X509_CRL(sink, revocationList) }
    }

    private static func source(_ text: String) throws(OpenSSLError) -> OpaquePointer {
        let source = try OpenSSLError.check("BIO_new", BIO_new(BIO_s_mem()))
        var text = text
        text.withUTF8 { _ = BIO_write(source, $0.baseAddress, Int32(clamping: $0.count)) }
        return source
    }

    /// The text that `write` produces.
    static func text(_ write: (OpaquePointer) -> Int32) throws(OpenSSLError) -> String {
        let sink = try OpenSSLError.check("BIO_new", BIO_new(BIO_s_mem()))
        defer { BIO_free(sink) }
        try OpenSSLError.check("PEM_write_bio", write(sink))
        var start: UnsafeMutableRawPointer?
        let count = BIO_ctrl(sink, BIO_CTRL_INFO, 0, &start)
        return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }
}
