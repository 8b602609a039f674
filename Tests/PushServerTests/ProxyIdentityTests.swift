import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Callers that a trusted proxy has authenticated.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct ProxyIdentityTests {
    private static let field = "X-Remote-User"
    private static let proxies = TrustedProxies(
        networks: [IPNetwork("10.0.0.0/8")].compactMap(\.self),
        includesUnix: true,
        field: .xForwardedFor
    )

    private let fixture: ServerFixture
    private let identity: IdentityField

    init() async throws {
        self.identity = try #require(IdentityField(Self.field))
        self.fixture = try await ServerFixture(settings: .forTests(\.identityField, self.identity))
        try await self.fixture.storage.addDevice(of: self.fixture.storage.user("alice"), handle: "a1")
    }

    /// Lists the caller's devices. Only alice has one.
    private func list(
        _ fields: [(String, String)],
        from peer: PeerAddress = .unix,
        proxies: TrustedProxies = Self.proxies,
        certificate: String? = nil
    ) async throws -> Response {
        let lines = fields.map { "\($0): \($1)\r\n" }.joined()
        let head = "GET /api/register HTTP/1.1\r\nHost: sealpost.test\r\nX-Request-Id: same\r\n\(lines)\r\n"
        let request = Request(
            head: try #require(RequestHead(head)),
            body: RequestBody([]),
            peer: peer,
            loopIndex: 0,
            certificateName: certificate,
            proxies: proxies
        )
        return try await self.fixture.server.respond(to: request).response
    }

    private func expectStranger(_ response: Response, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try response.expectProblem(.unauthorized, sourceLocation: sourceLocation)
        let reference = try await self.list([])
        #expect(response.body == reference.body, sourceLocation: sourceLocation)
        #expect(response.fields == reference.fields, sourceLocation: sourceLocation)
    }

    private func address(_ text: String) throws -> PeerAddress {
        .ip(try #require(IPAddress(text)))
    }

    @Test(arguments: ["X-Remote-User", "x-remote-user", "X-REMOTE-USER"], ["alice", "  alice\t"])
    func theUserThatATrustedProxyNamesIsSignedIn(field: String, name: String) async throws {
        let response = try await self.list([(field, name)])
        #expect(response.status == .ok)
        #expect(try response.json != .array([]))
        #expect(self.identity.ignoredCount == 0)
    }

    @Test(arguments: [
        ("10.1.2.3", true), ("::ffff:10.1.2.3", true), ("11.1.2.3", false), ("127.0.0.1", false), ("::1", false),
    ])
    func onlyTheConnectionsPeerMayBeATrustedProxy(peer: String, isTrusted: Bool) async throws {
        // The server trusts the field because of the peer's own address. The forwarded client
        // address does not matter.
        let fields = [(Self.field, "alice"), ("X-Forwarded-For", "10.1.2.3")]
        let response = try await self.list(fields, from: try self.address(peer))
        #expect(response.status == (isTrusted ? .ok : .unauthorized))
        #expect(self.identity.ignoredCount == (isTrusted ? 0 : 1))
    }

    /// An untrusted peer that forwards an address is usually a reverse proxy whose address the
    /// operator has configured wrongly.
    @Test func aForwardedAddressOfAnUntrustedPeerIsCountedAndLoggedOnce() async throws {
        let fields = [("X-Forwarded-For", "192.0.2.9")]
        for peer in ["::1", "::1", "192.0.2.1", "10.1.2.3"] {
            _ = try await self.list(fields, from: self.address(peer))
        }
        let metrics = try await self.fixture.send(.get, "/metrics", user: "ada")
        #expect(metrics.text.contains("\nsealpost_forwarded_ignored_total 3\n"))
        let lines = self.fixture.log.lines.filter { $0.contains("forwarded client address ignored") }
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.first?.hasSuffix(" field=X-Forwarded-For peer=::1") == true, "\(lines)")
    }

    @Test func anUntrustedFieldIsIgnoredAndCounted() async throws {
        let stranger = try self.address("192.0.2.1")
        try await self.expectStranger(self.list([(Self.field, "ada")], from: stranger))
        let twice = [(Self.field, "ada"), (Self.field, "ada")]
        try await self.expectStranger(self.list(twice, from: .unknown))
        try await self.expectStranger(self.list([(Self.field, "ada")], proxies: .none))
        let bob = ("Authorization", ServerFixture.basic("bob"))
        let response = try await self.list([(Self.field, "alice"), bob], from: stranger)
        #expect(try response.json == .array([]), "bob's, who has shown his own password")
        #expect(self.identity.ignoredCount == 4)
        let metrics = try await self.fixture.send(.get, "/metrics", user: "ada")
        #expect(metrics.text.contains("# TYPE sealpost_identity_header_ignored_total counter\n"))
        #expect(metrics.text.contains("\nsealpost_identity_header_ignored_total 4\n"))
    }

    @Test(arguments: [
        "nobody", "Alice", "ALICE", "DOMAIN\\alice", "alice:x", "alice, alice", "a b", "älice", "alice\u{FF}", "alice@",
        String(repeating: "a", count: 101),
    ])
    func anUnknownNameIsAnsweredLikeNoCredentials(name: String) async throws {
        try await self.expectStranger(self.list([(Self.field, name)]))
    }

    @Test func aRealmIsPartOfTheName() async throws {
        try await self.expectStranger(self.list([(Self.field, "alice@EXAMPLE.COM")]))
        try await self.fixture.storage.addUser("alice@EXAMPLE.COM")
        #expect(try await self.list([(Self.field, "alice@EXAMPLE.COM")]).json == .array([]))
        try await self.expectStranger(self.list([(Self.field, "alice@example.com")]))
    }

    @Test(arguments: [["alice", "alice"], ["alice", "bob"], ["", "alice"], ["", ""]])
    func aRepeatedFieldSignsNobodyIn(names: [String]) async throws {
        try await self.expectStranger(self.list(names.map { (Self.field, $0) }))
    }

    @Test(arguments: ["", " "])
    func anEmptyFieldIsIgnored(value: String) async throws {
        try await self.expectStranger(self.list([(Self.field, value)]))
        let fields = [(Self.field, value), ("Authorization", ServerFixture.basic("alice"))]
        #expect(try await self.list(fields).json != .array([]))
        #expect(try await self.list([(Self.field, value)], certificate: "alice").json != .array([]))
    }

    @Test(arguments: [
        ServerFixture.basic("bob"), ServerFixture.basic("bob", password: "of the proxy"), "Negotiate YII=", "NTLM TlRM",
        "Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "Basic", "",
    ])
    func theIdentityFieldOverridesOtherCredentials(authorization: String) async throws {
        let fields = [(Self.field, "alice"), ("Authorization", authorization)]
        #expect(try await self.list(fields, certificate: "bob").json != .array([]))
        let nobody = [(Self.field, "nobody"), ("Authorization", ServerFixture.basic("alice"))]
        try await self.expectStranger(self.list(nobody, certificate: "alice"))
    }

    @Test func aDisabledOrDeletedUserIsRefusedAtOnce() async throws {
        let alice = [(Self.field, "alice")]
        for (body, isIn) in [(#"{"Disabled":true}"#, false), (#"{"Disabled":false}"#, true)] {
            _ = try await self.fixture.send(.patch, Paths.user("alice"), user: "ada", body: body)
            let response = try await self.list(alice)
            if isIn { #expect(response.status == .ok) } else { try await self.expectStranger(response) }
        }
        _ = try await self.fixture.send(.delete, Paths.user("alice"), user: "ada")
        try await self.expectStranger(self.list(alice))
    }

    @Test func theFieldIsIgnoredIfNotConfigured() async throws {
        let fixture = try await ServerFixture()
        let head = "GET /api/register HTTP/1.1\r\nHost: x\r\n\(Self.field): alice\r\n\r\n"
        let request = Request(
            head: try #require(RequestHead(head)),
            body: RequestBody([]),
            peer: .unix,
            loopIndex: 0,
            proxies: Self.proxies
        )
        try await fixture.server.respond(to: request).response.expectProblem(.unauthorized)
        #expect(try await !fixture.send(.get, "/metrics", user: "ada").text.contains("identity_header"))
    }

    @Test(arguments: ["", "X Remote", "X-Rémote", "X-Remote:", "\u{0}"])
    func anInvalidFieldNameIsRefused(name: String) {
        #expect(IdentityField(name) == nil)
    }

    private func session(_ fields: [(String, String)]) async throws -> (String, String) {
        let lines = fields.map { "\($0): \($1)\r\n" }.joined()
        let request = Request(
            head: try #require(RequestHead("POST /api/sessions HTTP/1.1\r\nHost: x\r\n\(lines)\r\n")),
            body: RequestBody([]),
            peer: .unix,
            loopIndex: 0,
            proxies: Self.proxies
        )
        let begun = try await self.fixture.server.respond(to: request).response
        return ("Authorization", "Bearer \(try #require(begun.json["Token"]?.text))")
    }

    @Test func aSessionBegunThroughAProxyEndsWithItsSignOn() async throws {
        let token = try await self.session([(Self.field, "alice")])
        for _ in 0..<2 {
            #expect(try await self.list([(Self.field, "alice"), token]).json != .array([]))
            try await self.list([(Self.field, "bob"), token]).expectProblem(.invalidBearerToken)
            try await self.list([(Self.field, "Alice"), token]).expectProblem(.invalidBearerToken)
            try await self.list([(Self.field, "nobody"), token]).expectProblem(.invalidBearerToken)
            try await self.list([token]).expectProblem(.invalidBearerToken)
            let stranger = try self.address("192.0.2.1")
            try await self.list([(Self.field, "alice"), token], from: stranger).expectProblem(.invalidBearerToken)
            #expect(try await self.list([token], certificate: "alice").json != .array([]))
        }
    }

    /// A token limits its user's rights, even if a proxy names the user.
    @Test func aTokenNarrowsTheRightsOfAUserNamedByAProxy() async throws {
        let fetching = try await self.fixture.storage.store.addToken(
            for: #require(Username("alice")),
            scopes: .fetch,
            expiresAt: .distantFuture,
            now: self.fixture.clock.now
        )
        let token = ("Authorization", "Bearer \(try #require(fetching).text.exposed)")
        try await self.list([(Self.field, "alice"), token]).expectProblem(.insufficientScope)
        try await self.list([(Self.field, "bob"), token]).expectProblem(.invalidBearerToken)
    }
}
