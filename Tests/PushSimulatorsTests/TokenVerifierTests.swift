import Bytes
import Foundation
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct ProviderTokenVerifierTests {
    private let key: SigningKey
    private let verifier: ProviderTokenVerifier

    init() throws {
        self.key = try .p256()
        self.verifier = ProviderTokenVerifier(key: self.key, keyID: "KEY", teamID: "TEAM")
    }

    private func token(
        header: String = #"{"alg":"ES256","kid":"KEY"}"#,
        claims: String = #"{"iss":"TEAM","iat":1800000000}"#
    ) throws -> String {
        try Tokens.make(header: header, claims: claims) { try self.key.signES256($0) }
    }

    private func expectInvalid(_ token: String) {
        #expect(throws: APNsRefusal(.invalidProviderToken)) { try self.verifier.issueDate(of: token) }
    }

    @Test func aGoodTokenGivesItsIssueDateRepeatedly() throws {
        let token = try self.token()
        for _ in 0..<2 { #expect(try self.verifier.issueDate(of: token) == Tokens.now) }
    }

    @Test(arguments: [
        #"{"alg":"none","kid":"KEY"}"#, #"{"alg":"HS256","kid":"KEY"}"#, #"{"alg":"ES256"}"#, #"{"kid":"KEY"}"#,
        #"{"alg":"ES256","kid":"OTHER"}"#, "x", "[]",
    ])
    func aTokenWithAnotherHeaderIsInvalid(header: String) throws {
        self.expectInvalid(try self.token(header: header))
    }

    @Test(arguments: [
        #"{"iss":"OTHER","iat":1800000000}"#, #"{"iat":1800000000}"#, #"{"iss":"TEAM"}"#,
        #"{"iss":"TEAM","iat":"1800000000"}"#, #"{"iss":"TEAM","iat":true}"#, "x",
    ])
    func aTokenWithOtherClaimsIsInvalid(claims: String) throws {
        self.expectInvalid(try self.token(claims: claims))
    }

    @Test func aTokenOfAnotherKeyIsInvalid() throws {
        let stranger = try SigningKey.p256()
        let (header, claims) = (#"{"alg":"ES256","kid":"KEY"}"#, #"{"iss":"TEAM","iat":1800000000}"#)
        self.expectInvalid(try Tokens.make(header: header, claims: claims) { try stranger.signES256($0) })
    }

    @Test func aSignatureInDERIsInvalid() throws {
        let (header, claims) = (#"{"alg":"ES256","kid":"KEY"}"#, #"{"iss":"TEAM","iat":1800000000}"#)
        self.expectInvalid(try Tokens.make(header: header, claims: claims) { try self.key.sign($0) })
    }

    @Test func aTokenWithChangedClaimsIsInvalid() throws {
        let parts = try self.token().split(separator: ".")
        let later = Base64.url.text(of: #"{"iss":"TEAM","iat":1800000001}"#.utf8)
        self.expectInvalid("\(parts[0]).\(later).\(parts[2])")
    }

    @Test(arguments: ["", ".", "..", "a.b", "a.b.c.d", "====.e30.", String(repeating: ".", count: 100_000)])
    func aMalformedTokenIsInvalid(text: String) {
        self.expectInvalid(text)
    }

    @Test func aPaddedTokenIsInvalid() throws {
        self.expectInvalid(try self.token() + "==")
    }
}

@Suite(.timeLimit(.minutes(5))) struct AssertionVerifierTests {
    private static let verifier = Result {
        AssertionVerifier(key: try .rsa2048(), clientEmail: "push@example.com", keyID: "KEY")
    }
    private let verifier: AssertionVerifier

    init() throws {
        self.verifier = try Self.verifier.get()
    }

    private func objection(to assertion: String) -> String? {
        self.verifier.objection(to: assertion, now: Tokens.now)
    }

    @Test func aGoodAssertionIsAccepted() throws {
        #expect(self.objection(to: try Tokens.assertion(for: self.verifier, issued: Tokens.now)) == nil)
    }

    @Test func everyWrongClaimIsRefused() throws {
        let (verifier, now) = (self.verifier, Tokens.now)
        let wrong = [
            try Tokens.assertion(for: verifier, issued: now, algorithm: "none"),
            try Tokens.assertion(for: verifier, issued: now, algorithm: "HS256"),
            try Tokens.assertion(for: verifier, issued: now, issuer: "other@example.com"),
            try Tokens.assertion(for: verifier, issued: now, audience: "https://localhost/token"),
            try Tokens.assertion(for: verifier, issued: now, scope: "https://www.googleapis.com/auth/drive"),
            try Tokens.assertion(for: verifier, issued: now, life: 3601),
            try Tokens.assertion(for: verifier, issued: now, life: 0),
            try Tokens.assertion(for: verifier, issued: now.addingTimeInterval(-3901)),
            try Tokens.assertion(for: verifier, issued: now.addingTimeInterval(301)),
        ]
        for assertion in wrong { #expect(self.objection(to: assertion) != nil) }
    }

    @Test func anAssertionOfAnotherKeyIsRefused() throws {
        let stranger = AssertionVerifier(key: try .rsa2048(), clientEmail: "push@example.com", keyID: "KEY")
        let assertion = try Tokens.assertion(for: stranger, issued: Tokens.now)
        #expect(self.objection(to: assertion) == "Invalid JWT Signature.")
    }
}
