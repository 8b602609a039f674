import Foundation
import HTTPSignatures
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// What is signed, with which key, and what the signed answer then says about caches. That the bytes of the wire verify is
/// in `SignatureTests`.
@Suite(.timeLimit(.minutes(5))) struct SigningTests {
    private static let asking = [("MyToken", "1000"), ("Accept-Signature", ResponseVerifier.acceptSignature())]

    /// Throws what the verifier says.
    private func verify(
        _ response: Response,
        by keys: SigningKeys,
        token: String = "1000",
        isHead: Bool = false,
        now: Date
    ) throws {
        let isEmpty = isHead || [204, 304].contains(response.status.code)
        let message = SignedMessage(
            status: response.status.code,
            body: isEmpty ? [] : response.body,
            requestToken: token
        ) { name in
            response.fields.lines.filter { $0.name.canonicalName == name }.map(\.value)
        }
        try ResponseVerifier(keys: keys.current.keys.map(\.key.publicKey)).verify(message, now: now)
        #expect(response.fields.lines.filter { $0.name == .cacheControl }.map(\.value) == ["no-store"])
        #expect(response.fields[.expires] == nil)
        #expect((response.fields[.contentDigest] == nil) == (response.status == .notModified))
    }

    private func isUnsigned(_ response: Response) -> Bool {
        [.contentDigest, .signature, .signatureInput].allSatisfy { response.fields[$0] == nil }
    }

    @Test(arguments: EnvelopeTests.Sample.allCases)
    func everyStatusIsSigned(sample: EnvelopeTests.Sample) async throws {
        let keys = SigningKeys(.random())
        let (response, now) = try await EnvelopeTests().send(sample, headers: Self.asking, signingKeys: keys)
        #expect(response.status.code == sample.rawValue)
        try self.verify(response, by: keys, now: now)
    }

    @Test(arguments: EnvelopeTests.Sample.allCases)
    func whoDoesNotAskGetsNoSignature(sample: EnvelopeTests.Sample) async throws {
        let (response, _) = try await EnvelopeTests().send(
            sample,
            headers: [("MyToken", "1000")],
            signingKeys: SigningKeys(.random())
        )
        #expect(self.isUnsigned(response))
    }

    @Test func aHeadIsSignedOverNothing() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(#"{"Payload":1}"#)
        let response = try await fixture.send(.head, path, user: "paul", headers: Self.asking)
        #expect(response.status == .ok)
        #expect(response.fields[.contentDigest] == ContentDigest.field(of: []))
        try self.verify(response, by: fixture.signingKeys, isHead: true, now: fixture.clock.now)
    }

    /// Its digest is made where the list is made, unless nothing of it goes out.
    @Test func aLongListIsSignedAsAnyOtherAnswer() async throws {
        let fixture = try await ServerFixture()
        for _ in 0..<101 { _ = try await fixture.post(#"{"Payload":1}"#, user: "alice") }
        let path = "\(Paths.notifications)?limit=500"
        let now = fixture.clock.now
        for method in [HTTPRequest.Method.get, .head] {
            let response = try await fixture.send(method, path, headers: Self.asking)
            #expect(response.fields.lines.count { $0.name == .contentDigest } == 1)
            try self.verify(response, by: fixture.signingKeys, isHead: method == .head, now: now)
        }
        let tag = try #require(try await fixture.send(.get, path).fields[.eTag])
        let unchanged = try await fixture.send(.get, path, headers: Self.asking + [("If-None-Match", tag)])
        #expect(unchanged.status == .notModified)
        try self.verify(unchanged, by: fixture.signingKeys, now: now)
    }

    @Test func whatIsDeletedIsSignedOverNothing() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(#"{"Payload":1}"#)
        let response = try await fixture.send(.delete, path, user: "paul", headers: Self.asking)
        #expect(response.status == .noContent)
        try self.verify(response, by: fixture.signingKeys, now: fixture.clock.now)
    }

    @Test func whatMayBeKeptUnsignedMayNotBeKeptSigned() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(#"{"Payload":1}"#)
        let unsigned = try await fixture.send(.get, path, user: "paul")
        #expect(unsigned.fields[.cacheControl] == "private, max-age=60")
        #expect(unsigned.fields[.expires] != nil)
        let signed = try await fixture.send(.get, path, user: "paul", headers: Self.asking)
        try self.verify(signed, by: fixture.signingKeys, now: fixture.clock.now)
        #expect(signed.fields[.eTag] == unsigned.fields[.eTag])
        #expect(signed.body == unsigned.body)
    }

    @Test func theLabelIsTheClients() async throws {
        let fixture = try await ServerFixture()
        let field = "a=(\"@method\"), my.own=(\"@status\" \"content-digest\" \"mytoken\";req)"
        let headers = [("mytoken", "1000"), ("accept-signature", field)]
        let response = try await fixture.send(.get, "/healthz", headers: headers)
        #expect(response.fields[.signature]?.hasPrefix("my.own=:") == true)
        try self.verify(response, by: fixture.signingKeys, now: fixture.clock.now)
    }

    /// Before anything is done: whoever sees the answer must be able to trust it, and this one cannot be signed.
    @Test(arguments: [
        [("MyToken", "1"), ("Accept-Signature", "")], [("MyToken", "1"), ("Accept-Signature", "sig")],
        [("MyToken", "1"), ("Accept-Signature", "sig=(\"@method\")")],
        [("MyToken", "1"), ("Accept-Signature", "sig=(\"@status\" \"content-digest\")")],
        [("MyToken", "1"), ("Accept-Signature", "((")],
        [("Accept-Signature", ResponseVerifier.acceptSignature())],
    ])
    func whatCannotBeSignedIsRefusedBeforeAnythingIsDone(headers: [(String, String)]) async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(.post, Paths.notifications, user: "paul", headers: headers)
        try response.expectProblem(.unsupportedSignature)
        #expect(self.isUnsigned(response))
        #expect(fixture.wakeUps.count == 0)
        let anonymous = try await fixture.send(.get, "/nothing", user: nil, headers: headers)
        try anonymous.expectProblem(.unsupportedSignature)
    }

    @Test(arguments: ["x", "126322568", "", "-1"])
    func aTokenThatIsNoneIsRefusedWithASignature(token: String) async throws {
        let fixture = try await ServerFixture()
        let headers = [("MyToken", token), Self.asking[1]]
        let response = try await fixture.send(.get, "/healthz", headers: headers)
        try response.expectProblem(.invalidToken)
        try self.verify(response, by: fixture.signingKeys, token: token, now: fixture.clock.now)
    }

    @Test(arguments: [[("MyToken", "1"), ("MyToken", "1")], [("MyToken", "ü")]])
    func aTokenThatMayBeReadInTwoWaysIsNotSigned(tokens: [(String, String)]) async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(.get, "/healthz", headers: tokens + [Self.asking[1]])
        try response.expectProblem(.invalidToken)
        #expect(self.isUnsigned(response))
    }

    @Test func theServersOwnRefusalsAreSigned() async throws {
        let fixture = try await ServerFixture()
        let fields = Self.asking.map { "\($0): \($1)\r\n" }.joined()
        let head = try #require(RequestHead("GET / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n"))
        for refusal in [Refusal.bodyTooLarge, .timedOut, .handlerTooSlow, .badRequest("x"), .overloaded] {
            let response = fixture.server.refuse(refusal, head: head)
            #expect(response.status == refusal.status)
            try self.verify(response, by: fixture.signingKeys, now: fixture.clock.now)
        }
        #expect(self.isUnsigned(fixture.server.refuse(.badRequest("x"), head: nil)))
    }

    // MARK: Keys

    @Test func theKeyThatIsAskedForSignsAndElseTheFirst() async throws {
        let set = try SigningKeySet(text: SigningKeySet.addingKey(to: SigningKeySet.generateText()).text)
        let fixture = try await ServerFixture(signingKeys: SigningKeys(set))
        let (first, second) = (set.keys[0].key, set.keys[1].key)
        for (asked, signer) in [(nil, first), (first.id, first), (second.id, second), ("unknown", first)] {
            let headers = [Self.asking[0], ("Accept-Signature", ResponseVerifier.acceptSignature(keyID: asked))]
            let response = try await fixture.send(.get, "/healthz", headers: headers)
            #expect(response.fields[.signatureInput]?.contains("keyid=\"\(signer.id)\"") == true)
            try self.verify(response, by: fixture.signingKeys, now: fixture.clock.now)
        }
    }

    @Test func otherKeysSignFromTheExchangeOn() async throws {
        let fixture = try await ServerFixture()
        let old = SigningKeys(fixture.signingKeys.current)
        fixture.signingKeys.exchange(.random())
        let response = try await fixture.send(.get, "/healthz", headers: Self.asking)
        try self.verify(response, by: fixture.signingKeys, now: fixture.clock.now)
        #expect(throws: SignatureFailure.self) { try self.verify(response, by: old, now: fixture.clock.now) }
    }

    @Test func thePublicHalvesAreForAnybody() async throws {
        let set = try SigningKeySet(text: SigningKeySet.addingKey(to: SigningKeySet.generateText()).text)
        let fixture = try await ServerFixture(signingKeys: SigningKeys(set))
        let response = try await fixture.send(.get, Paths.signatureKeys, user: nil)
        #expect(response.status == .ok)
        #expect(response.fields[.cacheControl] == "no-store")
        let keys = set.keys.map { entry in
            """
            {"kty":"OKP","crv":"Ed25519","kid":"\(entry.key.id)","x":"\(entry.key.publicKey.base64URL)",\
            "alg":"EdDSA","use":"sig"}
            """
        }
        #expect(response.text == "{\"keys\":[\(keys.joined(separator: ","))]}")
        for entry in set.keys {
            let seed = entry.key.rawRepresentation
            for secret in [seed.base64EncodedString(), seed.map { String(format: "%02x", $0) }.joined()] {
                #expect(!response.text.contains(secret))
            }
        }
        let signed = try await fixture.send(.get, Paths.signatureKeys, user: nil, headers: Self.asking)
        try self.verify(signed, by: fixture.signingKeys, now: fixture.clock.now)
    }
}

@Suite(.timeLimit(.minutes(5))) struct SigningKeySetTests {
    private static func line(_ number: UInt32, _ byte: UInt8) -> String {
        "\(number) \(Data(repeating: byte, count: 32).base64EncodedString())"
    }
    private let text = "# mine\n\(Self.line(7, 1))\n# old\n\(Self.line(2, 2))\n"

    @Test func aNewKeyComesFirstAndCommentsStay() throws {
        let (text, number) = try SigningKeySet.addingKey(to: self.text)
        #expect(number == 8)
        #expect(try SigningKeySet(text: text).keys.map(\.number) == [8, 7, 2])
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.first == "# mine")
        #expect(lines.dropFirst(2).joined(separator: "\n") == self.text.dropFirst("# mine\n".count))
        #expect(try SigningKeySet.addingKey(to: self.text).text != text, "it is random")
    }

    @Test func aKeyIsTakenOutAndNothingElse() throws {
        #expect(try SigningKeySet.removingKey(2, from: self.text) == "# mine\n\(Self.line(7, 1))\n# old\n")
        #expect(throws: KeyTextError.signing(7)) { try SigningKeySet.removingKey(7, from: self.text) }
        #expect(throws: KeyTextError.missing(3)) { try SigningKeySet.removingKey(3, from: self.text) }
        #expect(throws: KeyTextError.full) { try SigningKeySet.addingKey(to: Self.line(.max, 1)) }
    }

    @Test(arguments: [
        ("", KeyTextError.empty), ("# nothing\n\n", .empty), ("1", .malformed(line: 1)),
        ("# x\n1 AAAA", .malformed(line: 2)), ("0 \(Self.line(1, 1).dropFirst(2))", .malformed(line: 1)),
        ("\(Self.line(1, 1)) x", .malformed(line: 1)), ("\(Self.line(1, 1))\n\(Self.line(1, 2))", .repeated(1)),
        ("\(Self.line(1, 1))\n\(Self.line(2, 1))", .repeated(2)), ("4294967296 AAAA", .malformed(line: 1)),
    ])
    func whatIsNoSetOfKeysIsRefusedWithItsPlace(text: String, error: KeyTextError) {
        #expect(throws: error) { try SigningKeySet(text: text) }
    }
}
