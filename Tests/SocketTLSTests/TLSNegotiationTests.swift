import COpenSSL
import PushSimulators
import SocketTLS
import Testing

/// The parameters of TLS that client and server agree on, and offers of clients that the server
/// refuses.
@Suite(.timeLimit(.minutes(5))) struct TLSNegotiationTests {
    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func theNewestVersionOfTheClientIsSpoken(newest: Int32) async throws {
        var options = TLSTestClient.Options()
        options.newest = newest
        let version = try await withHandshake(nil, options) { _, client in client.version }
        #expect(version == newest)
    }

    @Test(arguments: [TLS1_VERSION, TLS1_1_VERSION])
    func olderVersionsAreRefused(newest: Int32) async throws {
        var options = TLSTestClient.Options()
        options.newest = newest
        let refusal = try await refusal(nil, options)
        #expect(refusal.server?.contains("unsupported protocol") == true, "\(refusal)")
        #expect(refusal.client?.contains("protocol version") == true, "\(refusal)")
    }

    /// The cipher suites that a TLS 1.2 client offers, and the server's choice; `nil` if the
    /// server refuses.
    static let ciphers: [(String, String?)] = [
        ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        // A client that lists ChaCha20 first probably has no hardware for AES, so the server
        // chooses ChaCha20.
        ("ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("ECDHE-ECDSA-AES128-SHA256", nil), ("ECDHE-ECDSA-AES128-SHA", nil), ("AES128-GCM-SHA256", nil),
        ("DHE-RSA-AES128-GCM-SHA256", nil), ("ECDHE-ECDSA-AES128-CCM", nil), ("ECDHE-RSA-AES128-GCM-SHA256", nil),
        ("ADH-AES128-GCM-SHA256", nil), ("ECDHE-ECDSA-NULL-SHA", nil),
    ]

    @Test(arguments: Self.ciphers)
    func ciphersAreModernAndTheServerChooses(offered: String, chosen: String?) async throws {
        var options = TLSTestClient.Options()
        options.newest = TLS1_2_VERSION
        options.ciphers = offered + ":@SECLEVEL=0"
        guard let chosen else {
            let refusal = try await refusal(nil, options)
            #expect(refusal.server?.contains("no shared cipher") == true, "\(refusal)")
            return
        }
        let cipher = try await withHandshake(nil, options) { _, client in client.cipher }
        #expect(cipher == chosen)
    }

    @Test func rsaCertificateIsAccepted() async throws {
        let content = CertificateContent(commonNames: ["localhost"], usage: .server)
        let identity = try TestAuthority().makeIdentity(content, key: .rsa2048())
        var options = TLSTestClient.Options()
        options.newest = TLS1_2_VERSION
        let cipher = try await withHandshake(TLSServerContext(identities: [identity]), options) { $1.cipher }
        #expect(cipher == "ECDHE-RSA-AES128-GCM-SHA256")
    }

    @Test(arguments: [
        (TLS1_2_VERSION, "P-521:P-384:P-256:X25519", NID_X25519),
        (TLS1_2_VERSION, "P-384:P-256", NID_X9_62_prime256v1),
        (TLS1_3_VERSION, "X25519:P-256", NID_X25519),
        (TLS1_3_VERSION, "P-521:P-384", NID_secp384r1),
    ])
    func theServersGroupIsUsed(version: Int32, offered: String, chosen: Int32) async throws {
        var options = TLSTestClient.Options()
        options.newest = version
        options.groups = offered
        let group = try await withHandshake(nil, options) { _, client in client.group }
        #expect(group == Int(chosen))
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func otherGroupsAreRefused(newest: Int32) async throws {
        var options = TLSTestClient.Options()
        options.newest = newest
        options.groups = "P-521"
        #expect(try await refusal(nil, options).server != nil)
    }

    @Test(arguments: [(["http/1.1"], "http/1.1"), (["h2", "http/1.1"], "http/1.1"), ([], nil)])
    func http11IsUsedIfOfferedOrIfNothingIsOffered(offered: [String], chosen: String?) async throws {
        var options = TLSTestClient.Options()
        options.protocols = offered
        let answer = try await withHandshake(nil, options) { stream, _ in stream.chosenProtocol }
        #expect(answer == chosen)
    }

    @Test(arguments: [["h2"], ["spdy/3", "http/1.0"]])
    func clientThatOffersOnlyOtherProtocolsGetsAnAlert(offered: [String]) async throws {
        var options = TLSTestClient.Options()
        options.protocols = offered
        let refusal = try await refusal(nil, options)
        #expect(refusal.client?.contains("no application protocol") == true, "\(refusal)")
    }

    // MARK: - Names

    private static let authority = try? TestAuthority()

    private static func identity(_ name: String, _ names: [String]) throws -> TestAuthority.Identity {
        let content = CertificateContent(commonNames: [name], usage: .server, alternativeNames: names)
        return try #require(self.authority).makeIdentity(content)
    }

    /// The server name that a client sends, and the certificate that the server presents.
    @Test(arguments: [
        (nil, "first"), ("localhost", "first"), ("push.example.com", "exact"), ("PUSH.Example.COM", "exact"),
        ("second.example.com", "exact"), ("other.example.com", "wildcard"), ("a.other.example.com", "first"),
        ("example.com", "first"), ("in.the.first", "first"), ("by-its-common-name", "first"),
        ("partial.example.net", "first"), ("127.0.0.1", "first"), ("*.example.com", "wildcard"),
    ])
    func theCertificateIsTheOneForTheName(asked: String?, shown: String) async throws {
        let context = try TLSServerContext(identities: [
            Self.identity("first", ["DNS:in.the.first"]),
            Self.identity("by-its-common-name", []),
            Self.identity("wildcard", ["DNS:*.example.com", "DNS:part*.example.net"]),
            Self.identity("exact", ["DNS:push.example.com", "DNS:second.example.com", "IP:127.0.0.1"]),
        ])
        var options = TLSTestClient.Options()
        options.serverName = asked
        let name = try await withHandshake(context, options) { _, client in client.serverName }
        #expect(name == shown)
    }
}
