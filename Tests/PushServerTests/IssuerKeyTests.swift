import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The published keys of an issuer that the server accepts, and when it adds and removes keys.
@Suite(.timeLimit(.minutes(5))) struct IssuerKeyTests {
    private let fixture: ServerFixture
    private let issuer: TestIssuer
    private let known: Issuer

    init() async throws {
        let storage = try StoreFixture(options: .withEvents)
        self.issuer = try TestIssuer(storage.clock)
        self.known = Issuer(rules: TestIssuer.rules, keys: IssuerKeys(kept: 3600)) { storage.clock.now }
        self.fixture = try await ServerFixture(storage: storage, issuer: self.known)
    }

    private func isRemembered(_ token: String) throws -> Bool {
        try self.fixture.authenticator.caller(
            by: .bearer(token[...]),
            from: nil,
            reader: nil,
            term: nil,
            now: self.fixture.clock.now
        ) != nil
    }

    @Test func aTokenWithAnUnknownKeyWaitsForTheNextRead() async throws {
        try self.issuer.publish([.es256], in: self.known)
        let token = try self.issuer.token(.edDSA)
        async let answers = withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 { group.addTask { try await self.fixture.send(bearing: token).status.code } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        await self.known.keys.wanted.wait(atMost: .seconds(60))
        try await eventually {
            try self.issuer.publish(in: self.known); return try self.isRemembered(token)
        }
        #expect(try await answers == [200, 200, 200])
    }

    /// The earlier read may have begun before the issuer published the key that the request needs.
    @Test func aReadThatBeganBeforeTheWaitDoesNotCount() async throws {
        let keys = self.known.keys
        let early = keys.begin()
        async let refresh = keys.refreshed()
        await keys.wanted.wait(atMost: .seconds(60))
        keys.end(early, with: try self.issuer.keySet(), now: self.fixture.clock.now)
        keys.end(keys.begin(), with: nil, now: self.fixture.clock.now)
        #expect(await refresh == .failed)
    }

    @Test func missingIssuerKeysAreAnsweredWithRetryAfter() async throws {
        let token = try self.issuer.token()
        async let answer = self.fixture.send(bearing: token)
        await self.known.keys.wanted.wait(atMost: .seconds(60))
        self.known.keys.end(self.known.keys.begin(), with: nil, now: self.fixture.clock.now)
        let response = try await answer
        try response.expectProblem(.issuerUnavailable)
        #expect(response.fields[.retryAfter] == "5")
    }

    @Test func oldKeysAreUsedForAnHourIfTheIssuerFails() async throws {
        try self.issuer.publish(in: self.known)
        self.fixture.clock.advance(by: 3599)
        self.known.keys.end(self.known.keys.begin(), with: nil, now: self.fixture.clock.now)
        let token = try self.issuer.token()
        #expect(try await self.fixture.send(bearing: token).status == .ok)
        self.fixture.clock.advance(by: 1)
        #expect(try !self.isRemembered(token))
        async let answer = self.fixture.send(bearing: token)
        await self.known.keys.wanted.wait(atMost: .seconds(60))
        self.known.keys.end(self.known.keys.begin(), with: nil, now: self.fixture.clock.now)
        try await answer.expectProblem(.issuerUnavailable)
    }

    @Test func removingAKeyEvictsItsTokens() async throws {
        try self.issuer.publish([.es256, .edDSA], in: self.known)
        let token = try self.issuer.token(.es256)
        #expect(try await self.fixture.send(bearing: token).status == .ok)
        #expect(try self.isRemembered(token))
        // If the issuer only adds keys, the tokens that the server has verified stay in its cache.
        try self.issuer.publish(in: self.known)
        #expect(try self.isRemembered(token))
        try self.issuer.publish([.edDSA], in: self.known)
        #expect(try !self.isRemembered(token))
        async let answer = self.fixture.send(bearing: token)
        await self.known.keys.wanted.wait(atMost: .seconds(60))
        try self.issuer.publish([.edDSA], in: self.known)
        try await answer.expectProblem(.invalidBearerToken, "no such key")
    }

    @Test func aTokenIsCachedUntilItExpires() async throws {
        try self.issuer.publish(in: self.known)
        let token = try self.issuer.token(["exp": .number(Int(self.fixture.clock.now.timeIntervalSince1970) + 60)])
        #expect(try !self.isRemembered(token))
        #expect(try await self.fixture.send(bearing: token).status == .ok)
        self.fixture.clock.advance(by: 59)
        #expect(try self.isRemembered(token))
        self.fixture.clock.advance(by: 1)
        #expect(try !self.isRemembered(token))
        try await self.fixture.send(bearing: token).expectProblem(.tokenExpired)
    }

    @Test func keysThatVerifyNoTokenAreLeftOut() throws {
        let unusable: [[String: JSONValue?]] = [
            ["use": .string("enc")], ["key_ops": .array([.string("sign")])],
            ["kty": .string("oct"), "k": .string("AAAA")],
            ["alg": .string("ES256")], ["alg": .string("RSA-OAEP")], ["n": nil], ["n": .string("AQAB")],
            ["e": .string("AQABAQAB")],
            ["e": .string("Ag")],
            ["n": .string(String(repeating: "A", count: 2000))], ["kty": .number(1)],
        ]
        for changes in unusable {
            let keys = JSONValue.object([
                .init("keys", .array([self.issuer.key(.rs256, changes), .string("x"), .null]))
            ])
            #expect(throws: IssuerDocumentError.self, "\(changes)") { try IssuerKeySet(keys.bytes) }
        }
        let many = JSONValue.object([.init("keys", .array(Array(repeating: self.issuer.key(.es256), count: 101)))])
        #expect(throws: IssuerDocumentError.self) { try IssuerKeySet(many.bytes) }
        for text in ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[]}"#] {
            #expect(throws: IssuerDocumentError.self) { try IssuerKeySet(Array(text.utf8)) }
        }
    }

    /// Changes of a key, and the member because of which the server skips the key.
    private static let unusable: [([String: JSONValue?], String)] = [
        (["kty": .string("AKP")], "kty"), (["kty": nil], "kty"), (["kty": .string("EC")], "crv"),
        (["kty": .string("EC"), "crv": .string("secp256k1")], "crv"),
        (["kty": .string("OKP"), "crv": .string("X25519")], "crv"), (["use": .string("enc")], "use"),
        (["key_ops": .array([.string("encrypt")])], "key_ops"), (["alg": .string("RSA-OAEP")], "alg"),
        (["n": .string(String(repeating: "_", count: 170) + "8")], "2048"), (["e": nil], "e is missing"),
        (["n": nil, "x5c": .array([.string("MIIB")])], "n is missing"),
        (["kty": .string("EC"), "crv": .string("P-256"), "x": .string("AA"), "y": .string("AA")], "point"),
    ]

    @Test(arguments: unusable)
    func setWithAnUnusableKeyStaysUsable(changes: [String: JSONValue?], reason: String) throws {
        let odd = self.issuer.key(.rs256, changes.merging(["kid": .string("odd")]) { $1 })
        let keys = try TestIssuer.keySet([odd, .null, self.issuer.key(.es256)])
        #expect(try keys.verifies(SignedToken(self.issuer.token(.es256)[...], algorithms: [.es256])))
        #expect(keys.skipped.count == 2)
        let description = try #require(keys.skipped.first).description
        #expect(description.hasPrefix("odd: ") && description.contains(reason), "\(description)")
    }

    /// The server reads the keys from the issuer itself, so it ignores the certificates in them.
    @Test func keyWithABrokenCertificateIsUsed() throws {
        let key = self.issuer.key(.es384, ["x5c": .array([.string("!")]), "x5t": .number(1)])
        let keys = try TestIssuer.keySet([key])
        #expect(keys.skipped.isEmpty)
        #expect(try keys.verifies(SignedToken(self.issuer.token(.es384)[...], algorithms: [.es384])))
    }

    @Test func skippedKeyIsReportedOnce() throws {
        let (keys, now) = (self.known.keys, self.fixture.clock.now)
        func read(_ skipped: String...) throws -> [String] {
            let odd = skipped.map { self.issuer.key(.rs256, ["kid": .string($0), "use": .string("enc")]) }
            let set = try TestIssuer.keySet(odd + [self.issuer.key(.es256)])
            return keys.end(keys.begin(), with: set, now: now).map(\.description)
        }
        #expect(try read("a") == ["a: use is not sig"])
        #expect(try read("a") == [])
        #expect(keys.end(keys.begin(), with: nil, now: now).isEmpty)
        #expect(try read("a", "b") == ["b: use is not sig"])
        #expect(try read(String(repeating: "k", count: 5000)).map(\.utf8.count).max() ?? 0 < 150)
    }

    @Test func setWithoutAUsableKeyNamesTheReasons() {
        let key = self.issuer.key(.rs256, ["kid": .string("odd"), "use": .string("enc")])
        #expect(throws: IssuerDocumentError("the key set has no key that verifies tokens: odd: use is not sig")) {
            try TestIssuer.keySet([key])
        }
    }

    /// A key without `alg` verifies tokens of each algorithm for its type of key.
    @Test func keyWithoutAnAlgorithmVerifiesAllOfItsKind() throws {
        for algorithm in TokenAlgorithm.allCases {
            let keys = try TestIssuer.keySet([self.issuer.key(algorithm, ["alg": nil])])
            for other in TokenAlgorithm.allCases {
                let token = try SignedToken(
                    self.issuer.token(other, header: ["kid": nil])[...],
                    algorithms: Set(TokenAlgorithm.allCases)
                )
                let isOfRSA = [algorithm, other].allSatisfy { $0.rawValue.contains("S") && !$0.rawValue.contains("E") }
                #expect(keys.verifies(token) == (isOfRSA || algorithm == other), "\(algorithm) \(other)")
            }
        }
    }

    @Test func aTokenWithoutAKeyIDNeedsTheOnlyKeyOfItsAlgorithm() throws {
        let token = try SignedToken(self.issuer.token(header: ["kid": nil])[...], algorithms: [.es256])
        let keys = [self.issuer.key(.es256), self.issuer.key(.rs256)]
        let one = try IssuerKeySet(JSONValue.object([.init("keys", .array(keys))]).bytes)
        let two = try IssuerKeySet(JSONValue.object([.init("keys", .array(keys + [keys[0]]))]).bytes)
        #expect(one.verifies(token))
        #expect(!two.hasKey(for: token))
    }

    @Test func theDocumentOfAnotherIssuerIsRefused() throws {
        let text = #"{"issuer":"https://id.example","jwks_uri":"https://id.example/keys"}"#
        #expect(try IssuerDocument(Array(text.utf8), of: "https://id.example").keySet == "https://id.example/keys")
        for issuer in ["https://id.example/", "https://other.example"] {
            #expect(throws: IssuerDocumentError.self) { try IssuerDocument(Array(text.utf8), of: issuer) }
        }
        for text in ["", "[]", #"{"issuer":"https://id.example"}"#] {
            #expect(throws: IssuerDocumentError.self) { try IssuerDocument(Array(text.utf8), of: "https://id.example") }
        }
    }
}
