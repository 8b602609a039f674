internal import COpenSSL

/// Certificates and keys as text; whoever reads one frees it.
package enum PEM {
    static func readPrivateKey(_ text: String) throws(OpenSSLError) -> OpaquePointer {
        let source = try self.source(text)
        defer { BIO_free(source) }
        // Without a callback OpenSSL would ask the terminal for the password of an encrypted key.
        let key = PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil)
        return try OpenSSLError.check("PEM_read_bio_PrivateKey", key)
    }

    /// Reads all certificates of the text; throws if there is none.
    static func readCertificates(_ text: String) throws(OpenSSLError) -> [OpaquePointer] {
        let source = try self.source(text)
        defer { BIO_free(source) }
        var certificates = [try OpenSSLError.check("PEM_read_bio_X509", PEM_read_bio_X509(source, nil, nil, nil))]
        while let next = PEM_read_bio_X509(source, nil, nil, nil) { certificates.append(next) }
        // Running out of certificates is left on the queue as an error.
        ERR_clear_error()
        return certificates
    }

    /// Writes the key as PKCS#8, not encrypted.
    package static func write(privateKey: OpaquePointer) throws(OpenSSLError) -> String {
        try self.text { sink in PEM_write_bio_PrivateKey(sink, privateKey, nil, nil, 0, nil, nil) }
    }

    package static func write(certificate: OpaquePointer) throws(OpenSSLError) -> String {
        try self.text { sink in PEM_write_bio_X509(sink, certificate) }
    }

    private static func source(_ text: String) throws(OpenSSLError) -> OpaquePointer {
        let source = try OpenSSLError.check("BIO_new", BIO_new(BIO_s_mem()))
        var text = text
        text.withUTF8 { _ = BIO_write(source, $0.baseAddress, Int32($0.count)) }
        return source
    }

    private static func text(_ write: (OpaquePointer) -> Int32) throws(OpenSSLError) -> String {
        let sink = try OpenSSLError.check("BIO_new", BIO_new(BIO_s_mem()))
        defer { BIO_free(sink) }
        try OpenSSLError.check("PEM_write_bio", write(sink))
        var start: UnsafeMutableRawPointer?
        let count = BIO_ctrl(sink, BIO_CTRL_INFO, 0, &start)
        return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }
}
