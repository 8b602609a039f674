internal import Foundation

/// A certificate authority for tests, so that clients really verify certificates. It lives as long
/// as the process.
///
/// ```swift
/// let authority = try TestAuthority()
/// try authority.write(to: "\(directory)/ca.pem")   // the client's `caFile`
/// let apns = try APNsSimulator(authority: authority)
/// ```
package final class TestAuthority: Sendable {
    /// A certificate and its private key, both PEM.
    package struct Identity: Sendable {
        /// The certificate.
        package let certificate: String
        /// The private key, PKCS#8.
        package let privateKey: String
    }

    /// The authority's own certificate in PEM, which clients must trust.
    package let certificate: String
    private let name: String
    let key: SigningKey

    /// Makes a new key, and a certificate that is signed with this key itself.
    package init(name: String = "Sealpost test authority") throws {
        self.name = name
        self.key = try .p256()
        let own = CertificateContent(commonNames: [name], usage: .authority)
        self.certificate = try own.signed(subjectKey: self.key, issuer: name, issuerKey: self.key)
    }

    /// Makes a server's certificate for `localhost`, `127.0.0.1` and `names`.
    package func makeServerIdentity(names: [String] = []) throws -> Identity {
        let list = (["localhost"] + names).map { "DNS:\($0)" } + ["IP:127.0.0.1"]
        return try self.makeIdentity(
            CertificateContent(commonNames: ["localhost"], usage: .server, alternativeNames: list)
        )
    }

    /// Makes the certificate of a client, with that common name.
    package func makeClientIdentity(_ commonName: String) throws -> Identity {
        try self.makeIdentity(CertificateContent(commonNames: [commonName], usage: .client))
    }

    /// Makes a certificate with any content, for instance a wrong one.
    package func makeIdentity(_ content: CertificateContent, key: SigningKey? = nil) throws -> Identity {
        let key = try key ?? SigningKey.p256()
        let certificate = try content.signed(subjectKey: key, issuer: self.name, issuerKey: self.key)
        return Identity(certificate: certificate, privateKey: key.pem)
    }

    /// Writes the authority's certificate to a file that clients use as their trust store.
    package func write(to path: String) throws {
        try Data(self.certificate.utf8).write(to: URL(fileURLWithPath: path))
    }
}
