import COpenSSL
import PushSimulators
import SocketTLS
import Testing

@Suite(.timeLimit(.minutes(5))) struct ClientCertificateTests {
    private static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

    private let authority: TestAuthority
    private let context: TLSServerContext

    init() throws {
        self.authority = try TestAuthority()
        self.context = try TLSServerContext(trusting: self.authority)
    }

    private func options(_ version: Int32, _ identity: TestAuthority.Identity?) -> TLSTestClient.Options {
        var options = TLSTestClient.Options()
        options.newest = version
        options.identity = identity
        return options
    }

    @Test(arguments: Self.versions, ["alice", "Zoë"])
    func validCertificateGivesItsCommonName(version: Int32, name: String) async throws {
        let identity = try self.authority.makeClientIdentity(name)
        #expect(try await visit(self.context, self.options(version, identity)).certificateName == name)
    }

    @Test(arguments: Self.versions)
    func clientWithoutACertificateIsServedWithoutAName(version: Int32) async throws {
        #expect(try await visit(self.context, self.options(version, nil)).certificateName == nil)
    }

    @Test(arguments: [[], ["alice", "bob"], ["alice", "alice"]])
    func certificateGivesANameOnlyIfItHasExactlyOne(names: [String]) async throws {
        let identity = try self.authority.makeIdentity(CertificateContent(commonNames: names, usage: .client))
        #expect(try await visit(self.context, self.options(TLS1_3_VERSION, identity)).certificateName == nil)
    }

    @Test(arguments: Self.versions)
    func certificateOfAnotherAuthorityEndsTheHandshake(version: Int32) async throws {
        let identity = try TestAuthority(name: "Another").makeClientIdentity("alice")
        let refusal = try await refusal(self.context, self.options(version, identity))
        #expect(refusal.server?.contains("unable to get local issuer certificate") == true, "\(refusal)")
        #expect(refusal.client?.contains("unknown ca") == true, "\(refusal)")
    }

    @Test(arguments: Self.versions)
    func certificateOfANamesakeAuthorityEndsTheHandshake(version: Int32) async throws {
        let identity = try TestAuthority().makeClientIdentity("alice")
        let refusal = try await refusal(self.context, self.options(version, identity))
        #expect(refusal.server?.contains("certificate signature failure") == true, "\(refusal)")
    }

    @Test(arguments: Self.versions, [(-7200...(-3600), "certificate expired"), (3600...7200, "bad certificate")])
    func certificateOutsideItsValidityEndsTheHandshake(version: Int32, time: (ClosedRange<Int>, String)) async throws {
        let content = CertificateContent(commonNames: ["alice"], usage: .client, validity: time.0)
        let identity = try self.authority.makeIdentity(content)
        let refusal = try await refusal(self.context, self.options(version, identity))
        #expect(refusal.server?.contains("certificate verify failed") == true, "\(refusal)")
        #expect(refusal.client?.contains(time.1) == true, "\(refusal)")
    }

    @Test(arguments: Self.versions)
    func certificateForServersEndsTheHandshake(version: Int32) async throws {
        let identity = try self.authority.makeServerIdentity()
        let refusal = try await refusal(self.context, self.options(version, identity))
        #expect(refusal.server?.contains("unsuitable certificate purpose") == true, "\(refusal)")
    }

    @Test(arguments: Self.versions)
    func certificateIsIgnoredWithoutAuthorities(version: Int32) async throws {
        let identity = try self.authority.makeClientIdentity("alice")
        #expect(try await visit(TLSServerContext(), self.options(version, identity)).certificateName == nil)
    }

    @Test func certificateIsVerifiedUnderEveryServerName() async throws {
        let context = try TLSServerContext(
            identities: [
                self.authority.makeServerIdentity(), self.authority.makeServerIdentity(names: ["second.test"]),
            ],
            trusting: self.authority
        )
        var options = try self.options(TLS1_3_VERSION, self.authority.makeClientIdentity("alice"))
        options.serverName = "second.test"
        #expect(try await visit(context, options).certificateName == "alice")
        options.identity = try TestAuthority(name: "Another").makeClientIdentity("alice")
        #expect(try await refusal(context, options).server?.contains("certificate verify failed") == true)
    }
    @Test(arguments: Self.versions)
    func revokedCertificateEndsTheHandshake(version: Int32) async throws {
        let (lost, kept) = (try authority.makeClientIdentity("alice"), try authority.makeClientIdentity("alice"))
        let context = try TLSServerContext(
            trusting: self.authority,
            revoked: self.authority.makeRevocationList(of: [lost])
        )
        let refusal = try await refusal(context, self.options(version, lost))
        #expect(refusal.server?.contains("certificate revoked") == true, "\(refusal)")
        #expect(refusal.client?.contains("certificate revoked") == true, "\(refusal)")
        #expect(try await visit(context, self.options(version, kept)).certificateName == "alice")
        #expect(try await visit(context, self.options(version, nil)).certificateName == nil)
    }

    @Test(arguments: [
        (-7200...(-3600), "CRL has expired"), (3600...7200, "CRL is not yet valid"),
    ])
    func revocationListOutsideItsValidityRefusesAll(validity: ClosedRange<Int>, reason: String) async throws {
        let list = try authority.makeRevocationList(validity: validity)
        #expect(try TLSRevocationLists(list).expiresAt != nil)
        let context = try TLSServerContext(trusting: self.authority, revoked: list)
        let identity = try authority.makeClientIdentity("alice")
        let refusal = try await refusal(context, self.options(TLS1_3_VERSION, identity))
        #expect(refusal.server?.contains(reason) == true, "\(refusal)")
    }

    @Test func revocationListOfAnotherSignerRefusesAll() async throws {
        let identity = try authority.makeClientIdentity("alice")
        // A revocation list of another authority with the same name, and one of an authority with
        // another name.
        for (other, reason) in [
            (try TestAuthority(), "CRL signature failure"),
            (try TestAuthority(name: "Another"), "unable to get certificate CRL"),
        ] {
            let context = try TLSServerContext(trusting: self.authority, revoked: other.makeRevocationList())
            let refusal = try await refusal(context, self.options(TLS1_3_VERSION, identity))
            #expect(refusal.server?.contains(reason) == true, "\(refusal)")
        }
    }

    @Test(arguments: Self.versions)
    func sessionOfARevokedCertificateIsNotResumed(version: Int32) async throws {
        let (identity, keys) = (try authority.makeClientIdentity("alice"), try TicketKeys())
        let before = try TLSServerContext(trusting: self.authority, ticketKeys: keys)
        var options = self.options(version, identity)
        options.session = try await visit(before, options).session
        #expect(try await visit(before, options).wasResumed)
        let after = try TLSServerContext(
            trusting: self.authority,
            revoked: self.authority.makeRevocationList(of: [identity]),
            ticketKeys: keys
        )
        let refusal = try await refusal(after, options)
        #expect(refusal.server?.contains("certificate revoked") == true, "\(refusal)")
    }
}
