internal import COpenSSL
internal import SocketTLS

/// The content of an X.509 certificate.
package struct CertificateContent: Sendable {
    package enum Usage: Sendable {
        case authority, server, client
    }

    package var commonNames: [String]
    package var usage: Usage
    /// The alternative names of the subject in OpenSSL's notation, such as `DNS:example.com` or
    /// `IP:127.0.0.1`.
    package var alternativeNames: [String]
    /// The start and the end of the certificate's validity, in seconds from now.
    package var validity: ClosedRange<Int>

    /// By default, the certificate is valid from an hour ago until thirty days from now.
    package init(
        commonNames: [String],
        usage: Usage,
        alternativeNames: [String] = [],
        validity: ClosedRange<Int> = -3600...2_592_000
    ) {
        self.commonNames = commonNames
        self.usage = usage
        self.alternativeNames = alternativeNames
        self.validity = validity
    }

    /// The certificate in PEM.
    func signed(subjectKey: SigningKey, issuer: String, issuerKey: SigningKey) throws(OpenSSLError) -> String {
        let certificate = try OpenSSLError.check("X509_new", X509_new())
        defer { X509_free(certificate) }
        X509_set_version(certificate, Int(X509_VERSION_3))
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), UInt64.random(in: 1...UInt64(Int64.max)))
        X509_gmtime_adj(X509_getm_notBefore(certificate), self.validity.lowerBound)
        X509_gmtime_adj(X509_getm_notAfter(certificate), self.validity.upperBound)
        for name in self.commonNames { try Self.add(name, to: X509_get_subject_name(certificate)) }
        try Self.add(issuer, to: X509_get_issuer_name(certificate))
        try subjectKey.withPointer { key throws(OpenSSLError) in
            try OpenSSLError.check("X509_set_pubkey", X509_set_pubkey(certificate, key))
        }
        for (kind, value) in self.extensions {
            let made = try OpenSSLError.check("X509V3_EXT_conf_nid", X509V3_EXT_conf_nid(nil, nil, kind, value))
            defer { X509_EXTENSION_free(made) }
            try OpenSSLError.check("X509_add_ext", X509_add_ext(certificate, made, -1))
        }
        try issuerKey.withPointer { key throws(OpenSSLError) in
            try OpenSSLError.check("X509_sign", X509_sign(certificate, key, EVP_sha256()))
        }
        return try PEM.write(certificate: certificate)
    }

    private var extensions: [(Int32, String)] {
        if self.usage == .authority {
            return [(NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign")]
        }
        var list = [
            (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, self.usage == .server ? "serverAuth" : "clientAuth"),
        ]
        if !self.alternativeNames.isEmpty {
            list.append((NID_subject_alt_name, self.alternativeNames.joined(separator: ",")))
        }
        return list
    }

    private static func add(_ commonName: String, to name: OpaquePointer?) throws(OpenSSLError) {
        let bytes = Array(commonName.utf8)
        let result = X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0)
        try OpenSSLError.check("X509_NAME_add_entry_by_NID", result)
    }
}
