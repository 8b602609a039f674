import Bytes
import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The tokens of the issuer that the server accepts.
@Suite(.timeLimit(.minutes(5))) struct IssuerTokenTests {
    private let fixture: ServerFixture
    private let issuer: TestIssuer

    init() async throws {
        let storage = try StoreFixture(options: .withEvents)
        self.issuer = try TestIssuer(storage.clock)
        self.fixture = try await ServerFixture(storage: storage, issuer: self.issuer.issuer())
    }

    @Test(arguments: TokenAlgorithm.allCases)
    func aTokenOfEachAlgorithmSignsIn(algorithm: TokenAlgorithm) async throws {
        let response = try await self.fixture.send(bearing: self.issuer.token(algorithm))
        #expect(response.status == .ok, "\(response.text)")
        #expect(try response.json["Name"] == .string("alina"))
        #expect(try response.json["Role"] == .string("device"))
    }

    @Test(
        arguments: [
            ["typ": nil], ["typ": .string("at+jwt")], ["typ": .string("application/AT+JWT")],
            ["x5t": .string("AAAA"), "x5t#S256": .string("AAAA")], ["kid": nil],
        ] as [[String: JSONValue?]]
    )
    func validHeadersAreAccepted(header: [String: JSONValue?]) async throws {
        #expect(try await self.fixture.send(bearing: self.issuer.token(header: header)).status == .ok)
    }

    @Test(
        arguments: [
            ["aud": .array([.string("sealpost")])], ["exp": .number(digits: "1800000100.75")],
            ["nbf": .number(1_800_000_000)],
            ["exp": .number(digits: "253402300799")], ["azp": .string("app")],
            ["nested": .object([.init("a", .array([.null]))])],
        ] as [[String: JSONValue?]]
    )
    func validClaimsAreAccepted(claims: [String: JSONValue?]) async throws {
        let response = try await self.fixture.send(bearing: self.issuer.token(claims))
        #expect(response.status == .ok, "\(response.text)")
    }

    /// Changes of a token's header because of which the server refuses the token, and a word of
    /// the reason.
    @Test(
        arguments: [
            (["alg": .string("none")], "algorithm"), (["alg": .string("HS256")], "algorithm"),
            (["alg": .string("ES256K")], "algorithm"), (["alg": .string("es256")], "algorithm"),
            (["alg": nil], "algorithm"),
            (["alg": .number(1)], "alg must"), (["typ": .string("logout+jwt")], "typ"),
            (["typ": .string("dpop+jwt")], "typ"),
            (["typ": .null], "typ"), (["crit": .array([.string("exp")])], "crit"), (["crit": .null], "crit"),
            (["jku": .string("https://evil.example/")], "jku"), (["jwk": .object([])], "jwk"),
            (["x5u": .string("https://evil.example/")], "x5u"), (["x5c": .array([])], "x5c"),
            (["b64": .bool(false)], "b64"),
            (["zip": .string("DEF")], "zip"), (["cty": .string("JWT")], "cty"), (["kid": .number(1)], "kid"),
            (["kid": .string(String(repeating: "k", count: 257))], "kid"), (["alg": .string("RS256")], "signature"),
            (["kid": .string("RS256")], "no such key"), (["kid": .string("'; drop table user; --")], "no such key"),
            (["kid": .string("../../dev/null")], "no such key"),
        ] as [([String: JSONValue?], String)]
    )
    func invalidHeadersAreRefused(header: [String: JSONValue?], reason: String) async throws {
        // The issuer's keys have the names of their algorithms as ids, and the token is signed for
        // ES256. If its header claims RS256, it must also name the key with the id `RS256`.
        var header = header
        if header["alg"] == .some(.string("RS256")) { header["kid"] = .some(.string("RS256")) }
        let token = try self.issuer.token(header: header)
        async let answer = self.fixture.send(bearing: token)
        if reason == "no such key" { try await self.readAgain() }
        try await answer.expectProblem(.invalidBearerToken, reason)
    }

    /// Waits until a request waits for the issuer's keys, and then makes the server read them.
    private func readAgain() async throws {
        let issuer = try #require(self.fixture.authenticator.issuer)
        await issuer.keys.wanted.wait(atMost: .seconds(60))
        try self.issuer.publish(in: issuer)
    }

    @Test(
        arguments: [
            (["iss": .string("https://id.example/realm/")], "iss"),
            (["iss": .string("HTTPS://id.example/realm")], "iss"),
            (["iss": nil], "iss"), (["iss": .array([.string(TestIssuer.name)])], "iss"), (["aud": nil], "aud"),
            (["aud": .string("other")], "aud"), (["aud": .string("sealpost ")], "aud"), (["aud": .array([])], "aud"),
            (["aud": .array([.string("sealpost"), .string("other")])], "authorizedParties"),
            (["aud": .array([.string("sealpost"), .number(1)])], "aud"), (["aud": .object([])], "aud"),
            (["azp": .array([])], "azp"), (["sub": nil], "sub"), (["sub": .string("")], "sub"),
            (["sub": .number(7)], "sub"),
            (["sub": .string(String(repeating: "|", count: 34))], "more than 100"),
            (["sub": .string("..")], "name of a user"), (["aud": .null], "aud must"),
            (["aud": nil, "client_id": .string("sealpost")], "aud is missing"),
            (["exp": nil], "exp"), (["exp": .string("1800000600")], "exp"), (["exp": .number(digits: "1e12")], "exp"),
            (["exp": .number(digits: "-1")], "exp"), (["exp": .number(digits: "99999999999999999999")], "exp"),
            (["exp": .number(digits: "253402300800")], "exp"), (["exp": .number(digits: "1e400")], "exp"),
            (["exp": .null], "exp"), (["iat": nil], "iat"),
            (["iat": .number(1_800_000_001)], "future"), (["nbf": .number(1_800_000_001)], "future"),
            (["nbf": .string("now")], "nbf"), (["cnf": .object([.init("jkt", .string("x"))])], "cnf"),
        ] as [([String: JSONValue?], String)]
    )
    func invalidClaimsAreRefused(claims: [String: JSONValue?], reason: String) async throws {
        try await self.fixture.send(bearing: self.issuer.token(claims)).expectProblem(.invalidBearerToken, reason)
    }

    @Test(
        arguments: [
            ["exp": .number(1_800_000_000)], ["exp": .number(0)], ["iat": .number(1_800_000_000 - 86_400)],
            ["iat": .number(0)],
        ] as [[String: JSONValue?]]
    )
    func anExpiredTokenHasItsOwnProblemCode(claims: [String: JSONValue?]) async throws {
        let response = try await self.fixture.send(bearing: self.issuer.token(claims))
        try response.expectProblem(.tokenExpired)
        #expect(response.fields.lines.contains { $0.value.contains(#"error="invalid_token""#) })
    }

    @Test func clocksMayDifferByTheLeeway() async throws {
        var rules = TestIssuer.rules
        rules.leeway = 30
        let fixture = try await ServerFixture(issuer: self.issuer.issuer(rules))
        let now = Int(self.issuer.clock.now.timeIntervalSince1970)
        for (claims, status) in [
            (["exp": JSONValue.number(now - 29)], 200), (["exp": .number(now - 30)], 401),
            (["iat": .number(now + 30)], 200),
            (["iat": .number(now + 31)], 401), (["nbf": .number(now + 30)], 200), (["nbf": .number(now + 31)], 401),
        ] as [([String: JSONValue?], Int)] {
            #expect(try await fixture.send(bearing: self.issuer.token(claims)).status.code == status, "\(claims)")
        }
    }

    @Test(arguments: [
        #"{"alg":"ES256","kid":"ES256","alg":"ES256"}"#, #"{"alg":"ES256","kid":"ES256","\u0061lg":"none"}"#, "[]", "{",
        "",
        #"{"ALG":"ES256","kid":"ES256"}"#, #"{"alg":"ES256","kid":"ES256","x":[[[[[[[[]]]]]]]]}"#, "\u{FEFF}{}",
    ])
    func anAmbiguousHeaderIsRefused(header: String) async throws {
        let claims = Array(#"{"iss":"https://id.example/realm"}"#.utf8)
        let token = try self.issuer.token(.es256, header: Array(header.utf8), claims: claims)
        try await self.fixture.send(bearing: token).expectProblem(.invalidBearerToken)
    }

    @Test func aRepeatedClaimIsRefused() async throws {
        let times = #""iat":1800000000,"exp":1800000600"#
        for claims in [
            #"{"iss":"https://id.example/realm","aud":"sealpost","sub":"alina","sub":"ada",\#(times)}"#,
            #"{"iss":"https://id.example/realm","aud":"sealpost","sub":"alina","x":{"a":1,"a":2},\#(times)}"#,
            #"{"iss":"https://id.example/realm","aud":"sealpost","SUB":"alina",\#(times)}"#,
        ] {
            let token = try self.issuer.token(
                .es256,
                header: self.issuer.header(.es256).bytes,
                claims: Array(claims.utf8)
            )
            try await self.fixture.send(bearing: token).expectProblem(.invalidBearerToken)
        }
    }

    @Test func noByteOfATokenMayChange() async throws {
        let text = try self.issuer.token(.edDSA)
        // The test verifies the tokens without signing in. A thousand sign-ins would be slow, and
        // each would count as a failed attempt.
        let rules = TestIssuer.rules
        let keys = try self.issuer.keySet()
        for index in text.indices {
            let other: Character = text[index] == "A" ? "B" : "A"
            let changed = text[..<index] + String(other) + text[text.index(after: index)...]
            guard let token = try? SignedToken(changed, algorithms: rules.algorithms) else { continue }
            #expect(!keys.verifies(token), "\(changed)")
        }
        #expect(try keys.verifies(SignedToken(text[...], algorithms: rules.algorithms)))
    }

    @Test func malformedTokensAreRefused() async throws {
        let token = try self.issuer.token()
        let parts = token.split(separator: ".").map(String.init)
        let other = try self.issuer.token(["sub": .string("ada")]).split(separator: ".").map(String.init)
        for text in [
            "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])", "..", ".", "\(token).", "\(token).x.y", "\(token)=",
            "\(parts[0]).\(other[1]).\(parts[2])", "\(parts[0]).\(parts[1]).\(other[2])", String(token.dropLast(4)),
            "\(token)AAAA", String(repeating: "a", count: 8190) + "...",
        ] {
            try await self.fixture.send(bearing: text).expectProblem(.invalidBearerToken)
        }
    }

    @Test func onlyConfiguredAlgorithmsAreAccepted() async throws {
        var rules = TestIssuer.rules
        rules.algorithms = [.es256]
        let fixture = try await ServerFixture(issuer: self.issuer.issuer(rules))
        #expect(try await fixture.send(bearing: self.issuer.token(.es256)).status == .ok)
        for algorithm in TokenAlgorithm.allCases where algorithm != .es256 {
            try await fixture.send(bearing: self.issuer.token(algorithm)).expectProblem(
                .invalidBearerToken,
                "algorithm"
            )
        }
    }

    @Test func tokensForSeveralAudiencesNeedAnAuthorizedParty() async throws {
        var rules = TestIssuer.rules
        rules.authorizedParties = ["app"]
        let fixture = try await ServerFixture(issuer: self.issuer.issuer(rules))
        let audiences = JSONValue.array([.string("sealpost"), .string("userinfo")])
        for member in ["azp", "client_id"] {
            let token = try self.issuer.token(["aud": audiences, member: .string("app")])
            #expect(try await fixture.send(bearing: token).status == .ok)
        }
        for claims in [
            ["aud": audiences], ["azp": .string("other")], ["azp": .string("other"), "client_id": .string("app")],
        ]
            as [[String: JSONValue?]]
        {
            try await fixture.send(bearing: self.issuer.token(claims)).expectProblem(.invalidBearerToken, "azp")
        }
    }

    /// The server takes the audience from the configured claim only if the token has no `aud`. It
    /// refuses a token whose `aud` names another service, whatever the configured claim contains.
    @Test(arguments: ["client_id", "azp"])
    func audienceClaimStandsForAMissingAudience(claim: String) async throws {
        var rules = TestIssuer.rules
        rules.audienceClaim = claim
        let fixture = try await ServerFixture(issuer: self.issuer.issuer(rules))
        let other = claim == "azp" ? "client_id" : "azp"
        for claims in [
            ["aud": nil, claim: .string("sealpost")], [claim: .string("app")], [claim: nil],
            ["aud": nil, claim: .string("sealpost"), other: .string("app")],
        ] as [[String: JSONValue?]] {
            let response = try await fixture.send(bearing: self.issuer.token(claims))
            #expect(response.status == .ok, "\(claims) \(response.text)")
        }
        for (claims, reason) in [
            (["aud": nil], "aud is missing, and so is \(claim)"),
            (["aud": nil, other: .string("sealpost")], "aud is missing, and so is \(claim)"),
            (["aud": nil, claim: .string("app")], "\(claim) is not for this server"),
            (["aud": nil, claim: .array([.string("sealpost")])], "\(claim) must be a string"),
            (["aud": .string("other"), claim: .string("sealpost")], "aud is not for this server"),
            (["aud": .null, claim: .string("sealpost")], "aud must"),
            (["aud": .array([]), claim: .string("sealpost")], "aud is not for this server"),
        ] as [([String: JSONValue?], String)] {
            let response = try await fixture.send(bearing: self.issuer.token(claims))
            try response.expectProblem(.invalidBearerToken, reason)
        }
    }

    /// A change of the token's header or claims, and parts of the line that the server logs.
    @Test(
        arguments: [
            (
                ["alg": .string("HS256")], [:],
                ["mismatch=algorithm", "found=HS256", "expected=ES256, ES384, ES512, Ed"]
            ),
            (
                [:], ["iss": .string("https://id.example")],
                [
                    "mismatch=issuer", "found=https://id.example ", "expected=https://id.example/realm ",
                ]
            ),
            ([:], ["iss": nil], ["mismatch=issuer", "found=nothing"]),
            (
                [:], ["aud": .array([.string("a"), .string("b")])],
                [
                    "mismatch=audience", "found=a, b ", "expected=sealpost ", "reason=aud is not for this server",
                ]
            ),
            (
                [:], ["exp": .number(1_800_000_000 - 75)],
                [
                    "mismatch=expired", "found=exp 75 s ago", "expected=exp in the future, or less than 0 s ago",
                ]
            ),
            (
                [:], ["iat": .number(1_800_000_000 - 86_400)],
                [
                    "mismatch=expired", "found=iat 86400 s ago", "expected=iat less than 86400 s ago",
                ]
            ),
            ([:], ["iat": .number(1_800_000_090)], ["mismatch=early", "found=iat in 90 s", "expected=in at most 0 s"]),
            ([:], ["nbf": .number(1_800_000_090)], ["mismatch=early", "found=nbf in 90 s"]),
            ([:], ["sub": nil], ["mismatch=claim", "reason=sub is missing"]),
            (["typ": .string("logout+jwt")], [:], ["mismatch=form", "reason=typ must"]),
            (
                ["kid": .string("k9")], [:],
                ["mismatch=kid", "found=k9 for ES256", "expected=RS256 for RS256, RS384 for"]
            ),
            (["kid": .string("EdDSA")], [:], ["mismatch=kid", "found=EdDSA for ES256", "EdDSA for EdDSA"]),
        ] as [([String: JSONValue?], [String: JSONValue?], [String])]
    )
    func mismatchIsLoggedAndNotAnswered(
        header: [String: JSONValue?],
        claims: [String: JSONValue?],
        parts: [String]
    ) async throws {
        let token = try self.issuer.token(header: header, claims)
        async let answer = self.fixture.send(bearing: token)
        if parts[0] == "mismatch=kid" { try await self.readAgain() }
        let response = try await answer
        #expect(response.status == .unauthorized)
        let lines = self.fixture.log.lines.filter { $0.contains("issuer's token refused") }
        let line = try #require(lines.first)
        #expect(lines.count == 1 && line.hasPrefix("notice") && line.contains("tokens=1"))
        for part in parts { #expect(line.contains(part), "\(part) in \(line)") }
        for part in token.split(separator: ".") {
            #expect(!self.fixture.log.lines.contains { $0.contains(part) }, "\(part)")
        }
        #expect(!self.fixture.log.lines.contains { $0.contains("alina") })
        for value in parts where value.hasPrefix("expected=") {
            #expect(!response.text.contains(value.dropFirst("expected=".count)), "\(response.text)")
        }
    }

    @Test func refusedTokensLogALineInTenSecondsForEachMismatch() async throws {
        func lines() -> [String] { self.fixture.log.lines.filter { $0.contains("issuer's token refused") } }
        let long = try self.issuer.token(["aud": .string(String(repeating: "a", count: 4000) + "\n")])
        for _ in 0..<20 { _ = try await self.fixture.send(bearing: long) }
        #expect(lines().count == 1)
        #expect(lines().allSatisfy { $0.utf8.count < 1000 })
        _ = try await self.fixture.send(bearing: self.issuer.token(["sub": nil]))
        #expect(lines().count == 2)
        self.issuer.clock.advance(by: 10)
        _ = try await self.fixture.send(bearing: long)
        #expect(lines().count == 3)
        #expect(lines().last?.contains("tokens=20") == true, "\(lines())")
    }

    @Test func tokenThatNeedsAnAccountLogsNoMismatch() async throws {
        var rules = TestIssuer.rules
        rules.createsUsers = false
        let fixture = try await ServerFixture(issuer: self.issuer.issuer(rules))
        try await fixture.send(bearing: self.issuer.token()).expectProblem(.accountRefused)
        #expect(!fixture.log.lines.contains { $0.contains("issuer's token refused") })
    }

    @Test func anIssuersTokenIsInvalidWithoutAConfiguredIssuer() async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(bearing: self.issuer.token())
        try response.expectProblem(.invalidBearerToken)
        #expect(try response.problem.detail == nil)
    }
}
