import Foundation
import Testing

@testable import HTTPSignatures

@Suite(.timeLimit(.minutes(5))) struct ResponseVerifierTests {
    @Test(arguments: [(200, "{}"), (204, ""), (304, ""), (404, "not here"), (500, "x")])
    func signedAnswersAreAccepted(status: Int, body: String) throws {
        #expect(try SampleAnswer.signed(status: status, body: body).refusal() == nil)
    }

    @Test(arguments: [200, 304])
    func signedAnswerWithAChangedByteIsRefused(status: Int) throws {
        let answer = try SampleAnswer.signed(status: status, body: status == 304 ? "" : #"{"message": "good dog"}"#)
        #expect(try answer.refusal() == nil)
        let verifier = ResponseVerifier(keys: [try SampleKey.signing().publicKey])
        for index in answer.fields.indices {
            let bytes = Array(answer.fields[index].value.utf8)
            for place in bytes.indices {
                // Flips each bit, and replaces the byte with each byte that has a meaning in such
                // a field.
                let others = (0..<7).map { bytes[place] ^ 1 << $0 } + Array(#"\",;:=()?*-.0aA "#.utf8) + [0x00, 0x7F]
                for byte in others where byte != bytes[place] {
                    var changed = answer
                    var value = bytes
                    value[place] = byte
                    changed.fields[index].value = String(decoding: value, as: UTF8.self)
                    // Only failures are recorded, because a hundred thousand expectations would
                    // take longer than the checks.
                    guard try changed.refusal(by: verifier) == nil else { continue }
                    Issue.record("\(changed.fields[index]) is accepted")
                }
            }
        }
        for place in answer.body.indices {
            for bit in 0..<8 {
                var changed = answer
                changed.body[place] ^= 1 << bit
                #expect(try changed.refusal(by: verifier) == .digestMismatch)
            }
        }
    }

    @Test(arguments: [201, 404, 100, 0, -1, 304])
    func answerWithAnotherStatusIsRefused(status: Int) throws {
        var answer = try SampleAnswer.signed()
        answer.status = status
        #expect(try answer.refusal() == (status == 304 ? .wrongComponents : .badSignature))
    }

    /// Only the request's own nonce makes the clock irrelevant.
    @Test(
        arguments: [
            ("n", "n", nil), (nil, "n", .stale), ("n", nil, .stale), ("other", "n", .badSignature),
            ("n", "N", .badSignature),
        ] as [(String?, String?, SignatureFailure.Reason?)]
    )
    func ofAllNoncesOnlyTheRequestsOwnReplacesTheClock(
        signed: String?,
        asked: String?,
        refusal: SignatureFailure.Reason?
    ) throws {
        func request(_ nonce: String?) -> SignedRequest {
            SignedRequest(method: "GET", path: "/a", query: "b", token: "20817", nonce: nonce)
        }
        for status in [200, 304] {
            var answer = try SampleAnswer.signed(status: status, body: "", for: request(signed))
            answer.request = request(asked)
            for now in [SampleKey.now - 1e9, SampleKey.now + 1e9] { #expect(try answer.refusal(now: now) == refusal) }
            // Without a nonce in the request, the verifier compares the signature's time with the
            // clock, as it does for servers that know no nonces.
            #expect(try answer.refusal() == (refusal == .stale ? nil : refusal))
            answer["signature-input"] = answer["signature-input"].replacing("nonce=\"other\"", with: "nonce=\"n\"")
            if signed == "other" { #expect(try answer.refusal() == .badSignature) }
        }
    }

    private static let request = SignedRequest(method: "GET", path: "/a", query: "b", token: "20817")

    @Test(arguments: ["20818", "", "020817", "20817, 20817", "20817\n\"etag\": 1", "é"])
    func anAnswerToAnotherTokenIsRefused(token: String) throws {
        var answer = try SampleAnswer.signed(for: Self.request)
        answer.request = SignedRequest(method: "GET", path: "/a", query: "b", token: token)
        #expect(try [.badSignature, .malformed].contains(answer.refusal()))
    }

    /// Each row is another request with the same token.
    @Test(
        arguments: [
            ("HEAD", "/a", "b"), ("get", "/a", "b"), ("", "/a", "b"), ("GET", "/A", "b"), ("GET", "/a/", "b"),
            ("GET", "/%61", "b"), ("GET", "", "b"), ("GET", "a", "b"), ("GET", "/a?b", nil), ("GET", "/a", nil),
            ("GET", "/a", ""), ("GET", "/a", "B"), ("GET", "/a", "b&"), ("GET", "/a", "%62"), ("GET", "/a", "?b"),
            ("GET", "/a\n\"@query\";req: ?b", "b"), ("GÉT", "/a", "b"), ("GET", "/ä", "b"), ("GET", "/a", "ü"),
        ] as [(String, String, String?)]
    )
    func anAnswerToAnotherRequestIsRefused(method: String, path: String, query: String?) throws {
        for status in [200, 304] {
            var answer = try SampleAnswer.signed(status: status, body: "", for: Self.request)
            #expect(try answer.refusal() == nil)
            answer.request = SignedRequest(method: method, path: path, query: query, token: "20817")
            #expect(try [.badSignature, .malformed].contains(answer.refusal()))
        }
    }

    /// With the shorter list of components, the signed bytes of the answers to two requests are
    /// equal. Clients therefore request the longer list.
    @Test func shorterCoverageFitsAnyRequestWithTheSameToken() throws {
        let other = SignedRequest(method: "PUT", path: "/api/register/7", query: nil, token: "20817")
        let answer = try SampleAnswer.signed(body: "", for: Self.request, .answer)
        var exchanged = answer
        exchanged.request = other
        #expect(
            try SampleAnswer.signed(body: "", for: other, .answer).fields.map(\.value) == answer.fields.map(\.value)
        )
        let weak = ResponseVerifier(keys: [try SampleKey.signing().publicKey], coverage: .answer)
        #expect(try exchanged.refusal(by: weak) == nil)
        #expect(try exchanged.refusal() == .insufficientCoverage)
        #expect(try answer.refusal() == .insufficientCoverage)
        #expect(try SampleAnswer.signed(for: other).refusal(by: weak) == .wrongComponents, "no more, either")
    }

    /// RFC 9421 §2.2.6 and §2.2.7: an empty path or query is signed like a missing one.
    @Test(
        arguments: [
            ("", nil, "/", "?"), ("/", "", "/", "?"), ("*", nil, "/", "?"), ("/a", "", "/a", "?"),
            ("/a%2Fb%c3%BC", "?a=b%20c+d&&", "/a%2Fb%c3%BC", "??a=b%20c+d&&"),
        ] as [(String, String?, String, String)]
    )
    func aTargetIsSignedAsItIsSent(path: String, query: String?, signedPath: String, signedQuery: String) throws {
        let request = SignedRequest(method: "OPTIONS", path: path, query: query, token: nil)
        #expect(request.value(of: .path) == signedPath)
        #expect(request.value(of: .query) == signedQuery)
        #expect(request.value(of: .method) == "OPTIONS")
        #expect(request.value(of: .requestToken) == nil)
        #expect(request.value(of: SignatureComponent("@path")) == nil, "that of the answer, which has none")
    }

    @Test(arguments: [
        ("http://h", "/", "?"), ("http://h/", "/", "?"), ("http://h/a/", "/a/", "?"), ("http://h/a?", "/a", "?"),
        ("http://h/a%2fb;c+d?e=%C3%BC;f+g", "/a%2fb;c+d", "?e=%C3%BC;f+g"), ("http://h?a#b", "/", "?a"),
    ])
    func theTargetOfAURLIsItsPathAndQuery(text: String, path: String, query: String) throws {
        let request = SignedRequest(method: "GET", url: try #require(URL(string: text)), token: "1")
        #expect(request.value(of: .path) == path)
        #expect(request.value(of: .query) == query)
    }

    @Test func aRequestWithoutATokenHasNoSignedAnswer() throws {
        var answer = try SampleAnswer.signed()
        let request = answer.request
        answer.request = SignedRequest(method: request.method, path: request.path, query: request.query, token: nil)
        #expect(try answer.refusal() == .missing)
        #expect(throws: SignatureFailure.self) { try SampleAnswer.signed(for: answer.request) }
    }

    @Test(arguments: ["content-digest", "signature-input", "signature"])
    func missingFieldIsReported(name: String) throws {
        var answer = try SampleAnswer.signed()
        answer.fields.removeAll { $0.name == name }
        #expect(try answer.refusal() == .missing)
    }

    @Test(arguments: [
        (-300.0, true), (-301, false), (0, true), (300, true), (301, false), (1e300, false), (.nan, false),
    ])
    func signatureIsValidFiveMinutesEitherWay(seconds: Double, isGood: Bool) throws {
        let now = SampleKey.now.addingTimeInterval(seconds)
        #expect(try SampleAnswer.signed().refusal(now: now) == (isGood ? nil : .stale))
    }

    @Test func aKeyThatIsNotPinnedIsUnknown() throws {
        let verifier = ResponseVerifier(keys: [SigningKey().publicKey])
        #expect(try SampleAnswer.signed().refusal(by: verifier) == .unknownKey)
        #expect(try SampleAnswer.signed().refusal(by: ResponseVerifier(keys: [])) == .unknownKey)
    }

    @Test func anotherKeyUnderThePinnedNameIsRefused() throws {
        let verifier = ResponseVerifier([try SampleKey.signing().id: SigningKey().publicKey])
        #expect(try SampleAnswer.signed().refusal(by: verifier) == .badSignature)
    }

    /// Lists that an attacker could write, signed with the attacker's key or with the pinned one.
    @Test(arguments: [
        (#"()"#, SignatureFailure.Reason.insufficientCoverage),
        (#"("@status" "content-digest")"#, .insufficientCoverage),
        (#"("@status" "content-digest" "mytoken";req)"#, .insufficientCoverage),
        (#"("@query";req "@path";req "mytoken";req "content-digest" "@status")"#, .insufficientCoverage),
        (#"("@status" "content-digest" "mytoken";req "@method";req "@path";req)"#, .insufficientCoverage),
        (#"("@status" "content-digest" "mytoken";req "@method";req "@query";req)"#, .insufficientCoverage),
        (#"("@status" "content-digest" "mytoken";req "@path";req "@query";req)"#, .insufficientCoverage),
        (#"("@status" "content-digest" "mytoken";req "@path";req "@method";req "@query";req)"#, .wrongComponents),
        (#"("@status" "content-digest" "mytoken";req "@method" "@path" "@query")"#, .wrongComponents),
        (#"("@status" "content-digest" "mytoken";req "@method";req "@path";req "@query-param";req)"#, .wrongComponents),
        (#"("@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req "a")"#, .wrongComponents),
        (#"("@status" "content-digest" "mytoken")"#, .wrongComponents),
        (#"("@status" "content-digest" "mytoken";req "date")"#, .wrongComponents),
        (#"("@status" "content-digest";sf "mytoken";req)"#, .wrongComponents),
        (#"("@status" "etag" "mytoken";req)"#, .wrongComponents),
        (#"("@status" "content-digest" "mytoken";req "mytoken";req)"#, .insufficientCoverage),
        (
            #"("@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req "@query";req)"#,
            .wrongComponents
        ),
    ])
    func coverageMustBeExactlyTheOneRequired(list: String, reason: SignatureFailure.Reason) throws {
        var answer = try SampleAnswer.signed()
        let input = answer["signature-input"]
        let end = try #require(input.range(of: ");created"))
        answer["signature-input"] = "sig=\(list)\(input[end.lowerBound...].dropFirst())"
        #expect(try answer.refusal() == reason)
    }

    @Test(arguments: [
        ("alg=\"ed25519\"", "alg=\"hmac-sha256\"", SignatureFailure.Reason.wrongAlgorithm),
        ("alg=\"ed25519\"", "alg=ed25519", .wrongAlgorithm),
        ("alg=\"ed25519\"", "alg=\"none\"", .wrongAlgorithm),
        (";alg=\"ed25519\"", "", .badSignature),
        ("created=1618884473;", "", .badSignature),
        ("created=1618884473", "created=1618884473;created=1618884473", .duplicate),
        ("alg=\"ed25519\"", "alg=\"ed25519\";alg=\"ed25519\"", .duplicate),
        ("created=1618884473", "created=1618884473.0", .badSignature),
        ("created=1618884473", "created=1618884474", .badSignature),
    ])
    func aParameterThatIsChangedIsRefused(part: String, other: String, reason: SignatureFailure.Reason) throws {
        var answer = try SampleAnswer.signed()
        answer["signature-input"] = answer["signature-input"].replacingOccurrences(of: part, with: other)
        #expect(try answer.refusal() == reason)
    }

    @Test func duplicateLabelIsRefused() throws {
        let answer = try SampleAnswer.signed()
        for name in ["signature-input", "signature"] {
            var twice = answer
            twice.fields.append((name, answer[name]))
            #expect(try twice.refusal() == .duplicate)
            var joined = answer
            joined[name] = "\(answer[name]), \(answer[name])"
            #expect(try joined.refusal() == .duplicate)
        }
    }

    @Test func twoSignaturesByPinnedKeysAreRefused() throws {
        var answer = try SampleAnswer.signed()
        answer.fields.append(("signature-input", "b\(answer["signature-input"].dropFirst(3))"))
        answer.fields.append(("signature", "b\(answer["signature"].dropFirst(3))"))
        #expect(try answer.refusal() == .duplicate)
    }

    @Test func signatureOfAnotherPartyIsIgnored() throws {
        var answer = try SampleAnswer.signed()
        answer["signature-input"] = #"proxy=("via");keyid="p", \#(answer["signature-input"])"#
        answer["signature"] = "proxy=:AAAA:, \(answer["signature"])"
        #expect(try answer.refusal() == nil)
    }

    @Test func labelsOfInputAndSignatureMustMatch() throws {
        var answer = try SampleAnswer.signed()
        answer["signature"] = "b\(answer["signature"].dropFirst(3))"
        #expect(try answer.refusal() == .missing)
    }

    @Test func anyLabelIsAccepted() throws {
        var answer = try SampleAnswer.signed()
        answer["signature-input"] = "b\(answer["signature-input"].dropFirst(3))"
        answer["signature"] = "b\(answer["signature"].dropFirst(3))"
        #expect(try answer.refusal() == nil)
    }

    @Test(arguments: [
        "sig", "sig=7", "sig=\"x\"", "sig=()", "sig=::", "sig=:AAAA:", "sig=:AAAA", "", ",", "é", "sig=:\0:",
    ])
    func malformedSignatureFieldsAreRefused(field: String) throws {
        var answer = try SampleAnswer.signed()
        answer["signature"] = field
        #expect(try answer.refusal() != nil)
        answer = try SampleAnswer.signed()
        answer["signature-input"] = field
        #expect(try answer.refusal() != nil)
        answer = try SampleAnswer.signed()
        answer["content-digest"] = field
        #expect(try answer.refusal() != nil)
    }

    @Test func secondDigestIsRefused() throws {
        var answer = try SampleAnswer.signed()
        answer.fields.append(("content-digest", ContentDigest.field(of: [])))
        #expect(try answer.refusal() == .duplicate)
        answer.fields.removeLast()
        answer.fields.append(("content-digest", "sha-512=:AAAA:"))
        #expect(try answer.refusal() == .badSignature)
    }

    /// RFC 9421 §7.2.8 describes the error of a base whose last line is not the parameters.
    @Test func theLastLineOfABaseIsTheParameters() throws {
        let base = try SignatureBase([(.status, "200")], created: 1, keyID: "k", algorithm: nil)
        #expect(base.text == "\"@status\": 200\n\"@signature-params\": (\"@status\");created=1;keyid=\"k\"")
        #expect(base.parameters == "(\"@status\");created=1;keyid=\"k\"")
    }

    @Test func aValueCannotBeginALineOfItsOwn() {
        for value in ["200\n\"a\": b", "200\r", "\0", "ü"] {
            #expect(throws: SignatureFailure.self) {
                try SignatureBase([(.status, value)], created: 1, keyID: "k", algorithm: nil)
            }
        }
        #expect(throws: SignatureFailure.self) {
            try SignatureBase([(.status, "1"), (.status, "1")], created: 1, keyID: "k", algorithm: nil)
        }
    }

    @Test func emptyTokenHasItsLineInTheBase() throws {
        let base = try SignatureBase([(.requestToken, "")], created: 1, keyID: "k", algorithm: nil)
        #expect(base.text.hasPrefix("\"mytoken\";req: \n"))
    }

    @Test func blanksAroundALineDoNotCount() throws {
        var answer = try SampleAnswer.signed()
        for index in answer.fields.indices { answer.fields[index].value = " \t\(answer.fields[index].value)\t " }
        #expect(try answer.refusal() == nil)
    }

    @Test func a304WithAContentIsRefused() throws {
        var answer = try SampleAnswer.signed(status: 304, body: "")
        answer.body = [0x7B]
        #expect(try answer.refusal() == .digestMismatch)
        answer.body = []
        answer.fields.removeAll { $0.name == "etag" }
        #expect(try answer.refusal() == .missing)
    }

    /// A cache copies the fields of a 304 over those of its stored answer (RFC 9111 §3.2), and
    /// returns the result as a 200.
    @Test func a304ThatACacheMadeA200OfIsRefused() throws {
        var answer = try SampleAnswer.signed(status: 304, body: "")
        answer.status = 200
        answer.body = Array("kept".utf8)
        #expect(try answer.refusal() == .wrongComponents)
    }
}
