import Foundation
import HTTPSignatures
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The signed components, the key and the cache fields of a signed answer. `SignatureTests`
/// verifies signatures of answers as they are transmitted.
@Suite(.timeLimit(.minutes(5))) struct SigningTests {
    private static let asking = [("MyToken", "1000"), ("Accept-Signature", ResponseVerifier.acceptSignature())]
    private static let askingForLess = [
        asking[0], ("Accept-Signature", ResponseVerifier.acceptSignature(coverage: .answer)),
    ]
    private static let askingForTheAccount = [
        asking[0], ("Accept-Signature", ResponseVerifier.acceptSignature(coverage: .account)),
    ]

    /// Verifies the signature of an answer, by default as the answer to the fixture's last
    /// request. Throws the verifier's error.
    private func verify(
        _ response: Response,
        of fixture: ServerFixture,
        by keys: SigningKeys? = nil,
        token: String = "1000",
        to line: (method: String, target: String)? = nil,
        coverage: SignatureCoverage = .exchange,
        nonce: String? = nil,
        now: Date? = nil
    ) throws {
        let (method, target) = line ?? (fixture.requestLine.method, fixture.requestLine.target)
        let isEmpty = method == "HEAD" || [204, 304].contains(response.status.code)
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let message = SignedMessage(
            status: response.status.code,
            body: isEmpty ? [] : response.body,
            request: SignedRequest(
                method: method,
                path: parts[0],
                query: parts.count > 1 ? parts[1] : nil,
                token: token,
                nonce: nonce
            )
        ) { name in
            response.fields.lines.filter { $0.name.canonicalName == name }.map(\.value)
        }
        let pinned = (keys ?? fixture.signingKeys).current.keys.map(\.key.publicKey)
        try ResponseVerifier(keys: pinned, coverage: coverage).verify(message, now: now ?? fixture.clock.now)
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
        for (headers, coverage) in [
            (Self.asking, SignatureCoverage.exchange), (Self.askingForLess, .answer),
            (Self.askingForTheAccount, .account),
        ] {
            let (response, fixture) = try await EnvelopeTests().send(sample, headers: headers, signingKeys: keys)
            #expect(response.status.code == sample.rawValue)
            try self.verify(response, of: fixture, coverage: coverage)
        }
    }

    @Test(arguments: EnvelopeTests.Sample.allCases)
    func answersAreUnsignedUnlessTheClientAsks(sample: EnvelopeTests.Sample) async throws {
        let (response, _) = try await EnvelopeTests().send(
            sample,
            headers: [("MyToken", "1000")],
            signingKeys: SigningKeys(.random())
        )
        #expect(self.isUnsigned(response))
    }

    @Test func aHeadAnswerIsSignedWithAnEmptyBody() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(#"{"Payload":1}"#)
        let response = try await fixture.send(.head, path, user: "paul", headers: Self.asking)
        #expect(response.status == .ok)
        #expect(response.fields[.contentDigest] == ContentDigest.field(of: []))
        try self.verify(response, of: fixture)
    }

    /// The thread that makes a long list also computes the digest of its body. The test also sends
    /// HEAD, because the answer then has a digest but no body.
    @Test func aLongListIsSignedAsAnyOtherAnswer() async throws {
        let fixture = try await ServerFixture()
        for _ in 0..<101 { _ = try await fixture.post(#"{"Payload":1}"#, user: "alice") }
        let path = "\(Paths.notifications)?limit=500"
        for method in [HTTPRequest.Method.get, .head] {
            let response = try await fixture.send(method, path, headers: Self.asking)
            #expect(response.fields.lines.count { $0.name == .contentDigest } == 1)
            try self.verify(response, of: fixture)
        }
        let tag = try #require(try await fixture.send(.get, path).fields[.eTag])
        let unchanged = try await fixture.send(.get, path, headers: Self.asking + [("If-None-Match", tag)])
        #expect(unchanged.status == .notModified)
        try self.verify(unchanged, of: fixture)
    }

    @Test func aNoContentAnswerIsSigned() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(#"{"Payload":1}"#)
        let response = try await fixture.send(.delete, path, user: "paul", headers: Self.asking)
        #expect(response.status == .noContent)
        try self.verify(response, of: fixture)
    }

    @Test func aSignedAnswerIsNotCacheable() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(#"{"Payload":1}"#)
        let unsigned = try await fixture.send(.get, path, user: "paul")
        #expect(unsigned.fields[.cacheControl] == "private, max-age=60")
        #expect(unsigned.fields[.expires] != nil)
        let signed = try await fixture.send(.get, path, user: "paul", headers: Self.asking)
        try self.verify(signed, of: fixture)
        #expect(signed.fields[.eTag] == unsigned.fields[.eTag])
        #expect(signed.body == unsigned.body)
    }

    @Test func theClientChoosesTheSignaturesLabelAndOrder() async throws {
        let fixture = try await ServerFixture()
        for list in [
            #"("@status" "content-digest" "mytoken";req)"#,
            #"("@path";req "mytoken";req "@method";req "content-digest" "@query";req "@status")"#,
        ] {
            let headers = [("mytoken", "1000"), ("accept-signature", "a=(\"@method\"), my.own=\(list)")]
            let response = try await fixture.send(.get, "/healthz", headers: headers)
            #expect(response.fields[.signature]?.hasPrefix("my.own=:") == true)
            #expect(response.fields[.signatureInput]?.hasPrefix("my.own=\(list);created=") == true)
            let coverage = try SignatureRequest(acceptSignature: ["a=\(list)"]).coverage
            try self.verify(response, of: fixture, coverage: coverage)
        }
    }

    // MARK: The request

    /// A target, and the path and query that the signature covers. The server does not decode
    /// them, and leaves out the authority of an absolute target.
    @Test(
        arguments: [
            ("/", "/", nil), ("/?", "/", ""), ("/a%2db/~%7e;c+d?e=%c3%BC&f+g;?/", "/a%2db/~%7e;c+d", "e=%c3%BC&f+g;?/"),
            ("/nothing?a?b", "/nothing", "a?b"), ("//", "//", nil), ("http://else.where/healthz?x", "/healthz", "x"),
            ("http://else.where", "/", nil), ("HTTP://else.where?x", "/", "x"),
            ("/api/notifications/7", "/api/notifications/7", nil),
        ] as [(String, String, String?)]
    )
    func methodPathAndQueryAreSignedAsTheyWereReceived(target: String, path: String, query: String?) async throws {
        let fixture = try await ServerFixture()
        let signedTarget = query.map { "\(path)?\($0)" } ?? path
        for method in [HTTPRequest.Method.get, .head, .put, .post, .patch, .delete, .options] {
            let response = try await fixture.send(method, target, headers: Self.asking)
            try self.verify(response, of: fixture, to: (method.rawValue, signedTarget))
            for (otherMethod, otherTarget) in [
                ("TRACE", signedTarget), (method.rawValue, "\(path)x"),
                (method.rawValue, "\(signedTarget)\(query == nil ? "?x" : "x")"),
            ] {
                #expect(throws: SignatureFailure.self) {
                    try self.verify(response, of: fixture, to: (otherMethod, otherTarget))
                }
            }
        }
    }

    /// RFC 9110 §7.1: the target `*` has an empty path, which is signed as `/`.
    @Test func thePathOfTheAsteriskIsASlash() async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(.options, "*", headers: Self.asking)
        try self.verify(response, of: fixture)
        try self.verify(response, of: fixture, to: ("OPTIONS", "/"))
    }

    /// A proxy drops a registration and returns the answer to another request. A client that
    /// requests few signed components accepts this answer. A client that requests all components
    /// refuses it.
    @Test func anAnswerToAnotherRequestDoesNotPassForARegistration() async throws {
        let fixture = try await ServerFixture()
        let path = Paths.registration(try await fixture.requestRegistration())
        func exchanged(_ headers: [(String, String)]) async throws -> (right: Response, other: Response) {
            let body = #"{"Platform":"fcm","Handle":"h"}"#
            let right = try await fixture.send(.put, path, headers: headers, body: body)
            #expect(right.status == .ok)
            return (right, try await fixture.send(.head, "/healthz", user: nil, headers: headers))
        }
        let weak = try await exchanged(Self.askingForLess)
        #expect(weak.right.fields[.signature] == weak.other.fields[.signature])
        #expect(weak.right.fields[.signatureInput] == weak.other.fields[.signatureInput])
        try self.verify(weak.right, of: fixture, to: ("HEAD", path), coverage: .answer)
        // As for an answer to HEAD, `verify` expects no content here, and both answers have none.
        try self.verify(weak.other, of: fixture, to: ("HEAD", path), coverage: .answer)
        let strong = try await exchanged(Self.asking)
        try self.verify(strong.right, of: fixture, to: ("PUT", path))
        try self.verify(strong.other, of: fixture, to: ("HEAD", "/healthz"))
        // The digest of each answer is right, because none of these answers has content.
        for (response, method) in [(strong.other, "HEAD"), (strong.right, "HEAD"), (strong.right, "DELETE")] {
            let error = #expect(throws: SignatureFailure.self) {
                try self.verify(response, of: fixture, to: (method, path))
            }
            #expect(error?.reason == .badSignature)
        }
    }

    /// A proxy repeats the request with its own credentials. Apart from the account, all signed
    /// values are those of the right answer.
    @Test func anAnswerForAnotherAccountDoesNotPassWithTheOwnAccount() async throws {
        let fixture = try await ServerFixture()
        let path = "\(Paths.notifications)/4711"
        let own = try await fixture.send(.get, path, headers: Self.askingForTheAccount)
        var other = try await fixture.send(.get, path, user: "bob", headers: Self.askingForTheAccount)
        try self.verify(own, of: fixture, coverage: .account)
        try self.verify(other, of: fixture, coverage: .account)
        #expect(own.status == .notFound && other.status == .notFound)
        let (account, others) = (own.fields[.account], other.fields[.account])
        #expect(account != others)
        other.fields.remove(.account)
        other.fields.append(.account, try #require(account))
        #expect(throws: SignatureFailure.self) { try self.verify(other, of: fixture, coverage: .account) }
        // A proxy may remove the account field and request fewer signed components. The client
        // notices this by the list of components in the signature.
        #expect(throws: SignatureFailure.self) {
            try self.verify(other, of: fixture, coverage: .exchange)
        }
    }

    @Test func anUnauthenticatedAnswerHasTheAccountNone() async throws {
        let fixture = try await ServerFixture()
        for target in ["/healthz", "/api/register", "/nothing"] {
            let asked = try await fixture.send(.get, target, user: nil, headers: Self.askingForTheAccount)
            #expect(asked.fields.lines.filter { $0.name == .account }.map(\.value) == ["none"])
            try self.verify(asked, of: fixture, coverage: .account)
            let unasked = try await fixture.send(.get, target, user: nil, headers: Self.asking)
            #expect(unasked.fields[.account] == nil)
        }
        let field = Self.askingForTheAccount.map { "\($0): \($1)\r\n" }.joined()
        let head = try #require(RequestHead("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n"))
        let refused = fixture.server.refuse(.bodyTooLarge, head: head)
        #expect(refused.fields[.account] == "none")
        try self.verify(refused, of: fixture, to: ("POST", "/"), coverage: .account)
    }

    /// Tests a current client with a server of the previous version, and a client of the previous
    /// version with this server.
    @Test func aClientThatOffersTwoCoveragesGetsTheFirst() async throws {
        let fixture = try await ServerFixture()
        let either = ResponseVerifier.acceptSignature(coverage: .account, otherwise: .exchange)
        let response = try await fixture.send(
            .get,
            "/api/register",
            headers: [Self.asking[0], ("Accept-Signature", either)]
        )
        #expect(response.fields[.signature]?.hasPrefix("sig=:") == true)
        try self.verify(response, of: fixture, coverage: .account)
        // A server of the previous version cannot make the first of the two signatures, because it
        // does not know the account component.
        let before = try await fixture.send(
            .get,
            "/api/register",
            headers: [Self.asking[0], ("Accept-Signature", either.replacing("sealpost-account", with: "of-later"))]
        )
        #expect(before.fields[.signature]?.hasPrefix("sig0=:") == true)
        try self.verify(before, of: fixture, coverage: .exchange)
    }

    /// The signature of each answer, even of a 304 or a refusal, has the nonce of its request.
    @Test func theSignatureHasTheNonceOfItsRequest() async throws {
        let fixture = try await ServerFixture()
        let asking = [
            Self.asking[0],
            ("Accept-Signature", ResponseVerifier.acceptSignature(coverage: .account, nonce: "a \"b\"")),
        ]
        let list = try await fixture.send(.get, "/api/notifications", headers: asking)
        let tag = try #require(list.fields[.eTag])
        let unchanged = try await fixture.send(.get, "/api/notifications", headers: asking + [("If-None-Match", tag)])
        #expect(unchanged.status == .notModified)
        for response in [list, unchanged] {
            #expect(response.fields[.signatureInput]?.hasSuffix(#";nonce="a \"b\"""#) == true)
            for now in [Date.distantPast, .distantFuture] {
                let line = ("GET", "/api/notifications")
                try self.verify(response, of: fixture, to: line, coverage: .account, nonce: "a \"b\"", now: now)
                #expect(throws: SignatureFailure.self) {
                    try self.verify(response, of: fixture, to: line, coverage: .account, nonce: "b", now: now)
                }
            }
        }
        let refused = try await fixture.send(.get, "/nothing", user: nil, headers: asking)
        try self.verify(refused, of: fixture, coverage: .account, nonce: "a \"b\"", now: .distantPast)
    }

    /// The server refuses a request with an invalid `Accept-Signature` before it does anything. It
    /// could not sign the answer as the request demands, so the client could not trust the answer.
    @Test(arguments: [
        [("MyToken", "1"), ("Accept-Signature", "")], [("MyToken", "1"), ("Accept-Signature", "sig")],
        [("MyToken", "1"), ("Accept-Signature", "sig=(\"@method\")")],
        [("MyToken", "1"), ("Accept-Signature", "sig=(\"@status\" \"content-digest\")")],
        [("MyToken", "1"), ("Accept-Signature", "sig=(\"@method\";req \"@path\";req \"@query\";req)")],
        [("MyToken", "1"), ("Accept-Signature", "sig=(\"@status\" \"content-digest\" \"mytoken\";req \"@method\")")],
        [
            ("MyToken", "1"),
            ("Accept-Signature", "sig=(\"@status\" \"content-digest\" \"mytoken\";req \"@authority\";req)"),
        ],
        [("MyToken", "1"), ("Accept-Signature", "((")],
        [("MyToken", "1"), ("Accept-Signature", "\(ResponseVerifier.acceptSignature());nonce=\"\"")],
        [("Accept-Signature", ResponseVerifier.acceptSignature())],
    ])
    func anUnsupportedSignatureIsRefusedBeforeAnyEffect(headers: [(String, String)]) async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(.post, Paths.notifications, user: "paul", headers: headers)
        try response.expectProblem(.unsupportedSignature)
        #expect(self.isUnsigned(response))
        #expect(fixture.wakeUps.count == 0)
        let anonymous = try await fixture.send(.get, "/nothing", user: nil, headers: headers)
        try anonymous.expectProblem(.unsupportedSignature)
    }

    @Test(arguments: ["x", "126322568", "", "-1"])
    func anInvalidTokenIsRefusedWithASignedAnswer(token: String) async throws {
        let fixture = try await ServerFixture()
        let headers = [("MyToken", token), Self.asking[1]]
        let response = try await fixture.send(.get, "/healthz", headers: headers)
        try response.expectProblem(.invalidToken)
        try self.verify(response, of: fixture, token: token)
    }

    @Test(arguments: [[("MyToken", "1"), ("MyToken", "1")], [("MyToken", "ü")]])
    func anAmbiguousTokenIsNotSigned(tokens: [(String, String)]) async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(.get, "/healthz", headers: tokens + [Self.asking[1]])
        try response.expectProblem(.invalidToken)
        #expect(self.isUnsigned(response))
    }

    @Test func theServersOwnRefusalsAreSigned() async throws {
        let fixture = try await ServerFixture()
        let fields = Self.asking.map { "\($0): \($1)\r\n" }.joined()
        for target in ["/", "/api/notifications?limit=a%2Fb"] {
            let head = try #require(RequestHead("POST \(target) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n"))
            for refusal in [Refusal.bodyTooLarge, .timedOut, .handlerTooSlow, .badRequest("x"), .overloaded] {
                let response = fixture.server.refuse(refusal, head: head)
                #expect(response.status == refusal.status)
                try self.verify(response, of: fixture, to: ("POST", target))
            }
        }
        #expect(self.isUnsigned(fixture.server.refuse(.badRequest("x"), head: nil)))
    }

    // MARK: Keys

    @Test func theRequestedKeySignsOrElseTheFirst() async throws {
        let set = try SigningKeySet(text: SigningKeySet.addingKey(to: SigningKeySet.generateText()).text)
        let fixture = try await ServerFixture(signingKeys: SigningKeys(set))
        let (first, second) = (set.keys[0].key, set.keys[1].key)
        for (asked, signer) in [(nil, first), (first.id, first), (second.id, second), ("unknown", first)] {
            let headers = [Self.asking[0], ("Accept-Signature", ResponseVerifier.acceptSignature(keyID: asked))]
            let response = try await fixture.send(.get, "/healthz", headers: headers)
            #expect(response.fields[.signatureInput]?.contains("keyid=\"\(signer.id)\"") == true)
            try self.verify(response, of: fixture)
        }
    }

    @Test func newKeysSignAfterAReplacement() async throws {
        let fixture = try await ServerFixture()
        let old = SigningKeys(fixture.signingKeys.current)
        fixture.signingKeys.replace(with: .random())
        let response = try await fixture.send(.get, "/healthz", headers: Self.asking)
        try self.verify(response, of: fixture)
        #expect(throws: SignatureFailure.self) { try self.verify(response, of: fixture, by: old) }
    }

    @Test func theSignatureRequestEqualsTheDocumentation() throws {
        let page = try Repository.text(of: "docs/http.md")
        let field = try #require(page.firstMatch(of: /```http\nAccept-Signature: (.*)\n```/)).output.1
        #expect(field.replacing("…", with: "key") == ResponseVerifier.acceptSignature(keyID: "key", coverage: .account))
        let second = try #require(page.firstMatch(of: /```http\nAccept-Signature: (sig=.*;nonce=.*)\n```/)).output.1
        let name = #""@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req"#
        #expect(
            second.replacing("…", with: name).replacing("KEY", with: "key")
                == ResponseVerifier.acceptSignature(keyID: "key", coverage: .account, nonce: "NONCE")
        )
    }

    @Test func anybodyMayReadThePublicKeys() async throws {
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
        try self.verify(signed, of: fixture)
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

    @Test func removingAKeyChangesNothingElse() throws {
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
    func anInvalidKeySetIsRefusedWithTheReason(text: String, error: KeyTextError) {
        #expect(throws: error) { try SigningKeySet(text: text) }
    }
}
