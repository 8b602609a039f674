internal import COpenSSL
internal import SocketTLS

extension TestAuthority {
    /// Makes a list of revoked certificates, in PEM. The list is valid from the start to the end
    /// of `validity`, in seconds from now.
    package func makeRevocationList(
        of revoked: [Identity] = [],
        validity: ClosedRange<Int> = -3600...86_400
    ) throws -> String {
        let list = try OpenSSLError.check("X509_CRL_new", X509_CRL_new())
        defer { X509_CRL_free(list) }
        X509_CRL_set_version(list, Int(X509_CRL_VERSION_2))
        let issuer = try Self.certificate(self.certificate)
        defer { X509_free(issuer) }
        let name = X509_get_subject_name(issuer)
        try OpenSSLError.check("X509_CRL_set_issuer_name", X509_CRL_set_issuer_name(list, name))
        let (begin, end) = (X509_gmtime_adj(nil, validity.lowerBound), X509_gmtime_adj(nil, validity.upperBound))
        defer {
            ASN1_TIME_free(begin)
            ASN1_TIME_free(end)
        }
        X509_CRL_set1_lastUpdate(list, begin)
        X509_CRL_set1_nextUpdate(list, end)
        for identity in revoked {
            let certificate = try Self.certificate(identity.certificate)
            defer { X509_free(certificate) }
            let entry = try OpenSSLError.check("X509_REVOKED_new", X509_REVOKED_new())
            X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate))
            X509_REVOKED_set_revocationDate(entry, begin)
            // The list owns the entry from here on.
            try OpenSSLError.check("X509_CRL_add0_revoked", X509_CRL_add0_revoked(list, entry))
        }
        try self.key.withPointer { key throws(OpenSSLError) in
            try OpenSSLError.check("X509_CRL_sign", X509_CRL_sign(list, key, EVP_sha256()))
        }
        return try PEM.write(revocationList: list)
    }

    private static func certificate(_ text: String) throws(OpenSSLError) -> OpaquePointer {
        let source = try OpenSSLError.check("BIO_new", BIO_new(BIO_s_mem()))
        defer { BIO_free(source) }
        var text = text
        text.withUTF8 { _ = BIO_write(source, $0.baseAddress, Int32(clamping: $0.count)) }
        return try OpenSSLError.check("PEM_read_bio_X509", PEM_read_bio_X509(source, nil, nil, nil))
    }
}
