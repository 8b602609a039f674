import PushSimulators
import SocketTLS
import Testing

@Suite(.timeLimit(.minutes(5))) struct TLSIdentityTests {
    private static func error(certificates: String, privateKey: String) -> TLSIdentityError? {
        #expect(throws: TLSIdentityError.self) {
            try TLSIdentity(certificates: certificates, privateKey: privateKey)
        }
    }

    @Test func certificateWithinItsValidityHasNoObjection() throws {
        #expect(try TLSIdentity(TestAuthority().makeServerIdentity()).objection == nil)
    }

    /// If somebody has replaced the key but not the expired certificate, the error says both.
    @Test(arguments: [(-3600...3600, false), (-7200...(-3600), true)])
    func aKeyOfAnotherCertificateIsNamed(validity: ClosedRange<Int>, isExpired: Bool) throws {
        let authority = try TestAuthority()
        let one = try authority.makeIdentity(
            CertificateContent(commonNames: ["x"], usage: .server, validity: validity)
        )
        let error = Self.error(certificates: one.certificate, privateKey: try authority.makeServerIdentity().privateKey)
        guard case .otherKey(let objection) = error else {
            Issue.record("the key is another certificate's")
            return
        }
        #expect(objection?.hasPrefix("has expired: it was valid until ") ?? false == isExpired)
    }

    @Test(arguments: ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func invalidCertificateIsReported(text: String) throws {
        let identity = try TestAuthority().makeServerIdentity()
        for certificates in [text, text + identity.privateKey] {
            guard case .certificates(let reason) = Self.error(certificates: certificates, privateKey: "") else {
                Issue.record("the certificate is to blame")
                return
            }
            #expect(reason.hasPrefix("contains no readable PEM certificate"))
        }
    }

    @Test func damagedCertificateOfTheChainIsReported() throws {
        let identity = try TestAuthority().makeServerIdentity()
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        let error = Self.error(certificates: identity.certificate + damaged, privateKey: identity.privateKey)
        guard case .certificates = error else {
            Issue.record("the certificate is to blame")
            return
        }
    }

    @Test(arguments: [
        ("", "contains no readable PEM private key"), ("no PEM", "contains no readable PEM private key"),
        ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n", "is encrypted"),
        ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", "is encrypted"),
    ])
    func invalidPrivateKeyIsReported(text: String, message: String) throws {
        let identity = try TestAuthority().makeServerIdentity()
        guard case .privateKey(let reason) = Self.error(certificates: identity.certificate, privateKey: text) else {
            Issue.record("the key is to blame")
            return
        }
        #expect(reason.hasPrefix(message))
    }

    @Test(arguments: [
        (-7200...(-3600), "has expired: it was valid until "), (3600...7200, "is not valid before "),
    ])
    func certificateOutsideItsValidityHasAnObjection(validity: ClosedRange<Int>, message: String) throws {
        let content = CertificateContent(commonNames: ["x"], usage: .server, validity: validity)
        let identity = try TLSIdentity(TestAuthority().makeIdentity(content))
        let objection = try #require(identity.objection)
        #expect(objection.hasPrefix(message))
        #expect(objection.hasSuffix("GMT"))
    }

    @Test(arguments: ["", "no PEM"])
    func invalidAuthorityIsRefused(text: String) {
        #expect(throws: OpenSSLError.self) { try TLSClientAuthorities(certificates: text) }
    }
}
