internal import COpenSSL
internal import Foundation
internal import SocketTLS

/// A certificate authority that lives as long as the process, so that clients can check certificates for real.
///
/// ```swift
/// let authority = try TestAuthority()
/// try authority.write(to: "\(directory)/ca.pem")   // the client's `caFile`
/// let apns = try APNsSimulator(authority: authority)
/// ```
public final class TestAuthority: Sendable {
    /// A certificate and its private key, both PEM.
    public struct Identity: Sendable {
        /// The certificate.
        public let certificate: String
        /// The private key, PKCS#8.
        public let privateKey: String
    }

    /// The authority's own certificate, PEM: what clients are to trust.
    public let certificate: String
    private let key: SigningKey

    /// Makes a new key and signs its certificate with it.
    public init() throws {
        self.key = try .p256()
        let own = Certificate(subject: Self.name, issuer: Self.name, isAuthority: true, alternativeNames: nil)
        self.certificate = try own.signed(subjectKey: self.key, issuerKey: self.key)
    }

    /// Makes a server's certificate for `localhost`, `127.0.0.1` and the other names.
    public func makeServerIdentity(names: [String] = []) throws -> Identity {
        let key = try SigningKey.p256()
        let list = (["localhost"] + names).map { "DNS:\($0)" } + ["IP:127.0.0.1"]
        let leaf = Certificate(
            subject: "localhost",
            issuer: Self.name,
            isAuthority: false,
            alternativeNames: list.joined(separator: ",")
        )
        return Identity(
            certificate: try leaf.signed(subjectKey: key, issuerKey: self.key),
            privateKey: key.pem
        )
    }

    /// Writes the authority's certificate to a file, which clients take as their trust.
    public func write(to path: String) throws {
        try Data(self.certificate.utf8).write(to: URL(fileURLWithPath: path))
    }

    private static let name = "Sealpost test authority"
}

/// What an X.509 certificate is to say.
private struct Certificate {
    let subject: String
    let issuer: String
    let isAuthority: Bool
    let alternativeNames: String?

    /// The certificate in PEM, valid from an hour ago for thirty days.
    func signed(subjectKey: SigningKey, issuerKey: SigningKey) throws(OpenSSLError) -> String {
        let certificate = try OpenSSLError.check("X509_new", X509_new())
        defer { X509_free(certificate) }
        X509_set_version(certificate, Int(X509_VERSION_3))
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), UInt64.random(in: 1...UInt64(Int64.max)))
        X509_gmtime_adj(X509_getm_notBefore(certificate), -3600)
        X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * 24 * 3600)
        try Self.set(X509_get_subject_name(certificate), to: self.subject)
        try Self.set(X509_get_issuer_name(certificate), to: self.issuer)
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
        if self.isAuthority {
            return [(NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign")]
        }
        var list = [
            (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, "serverAuth"),
        ]
        if let alternativeNames { list.append((NID_subject_alt_name, alternativeNames)) }
        return list
    }

    private static func set(_ name: OpaquePointer?, to commonName: String) throws(OpenSSLError) {
        let bytes = Array(commonName.utf8)
        let result = X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0)
        try OpenSSLError.check("X509_NAME_add_entry_by_NID", result)
    }
}
