import Testing

@testable import HTTPSignatures

@Suite(.timeLimit(.minutes(5))) struct SignatureRequestTests {
    private static let list = #"("@status" "content-digest" "mytoken";req)"#
    private static let longer = #"("@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req)"#

    @Test func acceptSignatureOfTheVerifierIsParsed() throws {
        let request = try SignatureRequest(acceptSignature: [ResponseVerifier.acceptSignature(keyID: "k-_1")])
        #expect(request.label == "sig" && request.keyID == "k-_1")
        #expect(try SignatureRequest(acceptSignature: [ResponseVerifier.acceptSignature()]).keyID == nil)
        #expect(ResponseVerifier.acceptSignature(keyID: "k") == "sig=\(Self.longer);keyid=\"k\"")
        #expect(ResponseVerifier.acceptSignature(keyID: "k\n") == "sig=\(Self.longer)")
        #expect(ResponseVerifier.acceptSignature(keyID: "k", coverage: .answer) == "sig=\(Self.list);keyid=\"k\"")
        #expect(request.coverage == .exchange)
        let account = Self.longer.dropLast() + #" "sealpost-account")"#
        #expect(ResponseVerifier.acceptSignature(keyID: "k", coverage: .account) == "sig=\(account);keyid=\"k\"")
        #expect(
            ResponseVerifier.acceptSignature(keyID: "k", coverage: .account, otherwise: .exchange)
                == "sig=\(account);keyid=\"k\", sig0=\(Self.longer);keyid=\"k\""
        )
        #expect(try SignatureRequest(acceptSignature: ["sig=\(account)"]).coverage == .account)
        #expect(try SignatureRequest(acceptSignature: ["sig=\(Self.list)"]).coverage == .answer)
    }

    /// A server that knows no nonces chooses the request `sig1`. A server without account ids
    /// chooses `sig0`.
    @Test(arguments: ["n", String(repeating: "n", count: 64), #"a "quoted\text""#])
    func theNonceIsReadAndAnEarlierServerGetsARequestWithoutIt(nonce: String) throws {
        let field = ResponseVerifier.acceptSignature(coverage: .account, otherwise: .exchange, nonce: nonce)
        let first = try SignatureRequest(acceptSignature: [field])
        #expect(first.label == "sig" && first.nonce == nonce && first.coverage == .account)
        let second = try SignatureRequest(acceptSignature: [field.replacing("nonce=", with: "later=")])
        #expect(second.label == "sig1" && second.nonce == nil && second.coverage == .account)
        let third = try SignatureRequest(acceptSignature: [field.replacing("sealpost-account", with: "later")])
        #expect(third.label == "sig0" && third.nonce == nil && third.coverage == .exchange)
    }

    @Test(arguments: [
        #""content-digest" "@status" "mytoken";req"#, #""mytoken";req "content-digest" "@status""#,
        #""@status" "@method";req "content-digest" "mytoken";req"#,
        #""@query";req "@path";req "@method";req "mytoken";req "content-digest" "@status""#,
        #""@status" "content-digest" "mytoken";req "@path";req"#,
        #""sealpost-account" "@status" "content-digest" "mytoken";req"#,
    ])
    func signatureCoversTheRequestedComponentsInOrder(list: String) throws {
        let coverage = try SignatureRequest(acceptSignature: ["sig=(\(list))"]).coverage
        for status in [200, 304, 404] {
            let expected = status == 304 ? list.replacing("content-digest", with: "etag") : list
            let answer = try SampleAnswer.signed(status: status, body: "", coverage)
            #expect(answer["signature-input"].hasPrefix("sig=(\(expected));created="))
            let verifier = ResponseVerifier(keys: [try SampleKey.signing().publicKey], coverage: coverage)
            #expect(try answer.refusal(by: verifier) == nil)
            #expect(try answer.refusal() != nil)
        }
    }

    @Test(arguments: [
        ("x=\(Self.list)", "x"), ("x=\(Self.list);created;alg=\"ed25519\"", "x"),
        (#"a=("@method"), b=\#(Self.list), c=\#(Self.list)"#, "b"), ("  x=\(Self.list)  ", "x"),
        ("\(String(repeating: "a", count: 64))=\(Self.list)", String(repeating: "a", count: 64)),
    ])
    func theFirstSignatureThatCanBeMadeIsChosen(field: String, label: String) throws {
        #expect(try SignatureRequest(acceptSignature: [field]).label == label)
    }

    @Test func linesAreReadAsOneField() throws {
        let lines = [#"a=("@method")"#, "\tb=\(Self.list) "]
        #expect(try SignatureRequest(acceptSignature: lines).label == "b")
    }

    @Test(arguments: [
        "", "sig", "sig=()", "sig=1", #"sig=("@status" "content-digest" "mytoken")"#,
        #"sig=("@status" "content-digest" "mytoken";req "date")"#,
        #"sig=("@status" "content-digest" "etag" "mytoken";req)"#,
        #"sig=("@status" "etag" "mytoken";req)"#, #"sig=("@status" "content-digest" "mytoken";req "mytoken";req)"#,
        #"sig=("@status" "content-digest" "mytoken";req "@method")"#, #"sig=("@method";req "@path";req "@query";req)"#,
        #"sig=("@status" "content-digest" "mytoken";req "@path";req "@path";req)"#,
        #"sig=("@status" "content-digest" "mytoken";req "@query-param";req;name="a")"#,
        #"sig=("@status" "content-digest" "mytoken";req "@authority";req)"#,
        #"sig=("@status" "content-digest" "mytoken";req "sealpost-account";req)"#,
        #"sig=("@status" "content-digest" "mytoken";req "sealpost-account" "sealpost-account")"#,
        #"sig=("@status" "content-digest" "mytoken";req "authorization";req)"#,
        #"sig=("@status" "content-digest" "mytoken";req;sf)"#, #"sig=("@status" "content-digest" "mytoken";req=?0)"#,
        #"sig=("@status" "content-digest" "mytoken";req;req)"#, #"sig=("@status" "content-digest" "MyToken";req)"#,
        #"sig=(@status "content-digest" "mytoken";req)"#, #"sig=("@status";req "content-digest" "mytoken";req)"#,
        "sig=\(Self.list);alg=\"hmac-sha256\"", "sig=\(Self.list);nonce=n", "sig=\(Self.list);nonce",
        "sig=\(Self.list);nonce=\"\"", "sig=\(Self.list);nonce=\"\(String(repeating: "n", count: 65))\"",
        "sig=\(Self.list);nonce=\"a\";nonce=\"a\"", "sig=\(Self.list);tag=\"t\"",
        "sig=\(Self.list);expires", "sig=\(Self.list);keyid=k", "sig=\(Self.list);keyid=\"a\";keyid=\"b\"",
        "sig=\(Self.list), sig=\(Self.list)", "sig=\(Self.list),", "Sig=\(Self.list)",
        "\(String(repeating: "a", count: 65))=\(Self.list)", "sig=\(Self.list);keyid=\"ü\"",
    ])
    func unsupportedSignatureRequestsAreRefused(field: String) {
        #expect(throws: SignatureFailure.self) { try SignatureRequest(acceptSignature: [field]) }
    }

    @Test(arguments: [
        ("", "asks for no signature"), ("sig=()", #"what can be signed is ("@status""#),
        ("sig=1", "what can be signed is"),
        (#"sig=("@status")"#, "what can be signed is"),
        ("sig=\(Self.list);nonce=n", "nonce must be 1 to 64 characters"),
        ("sig=\(Self.list);nonce=\"\(String(repeating: "n", count: 65))\"", "nonce must be 1 to 64 characters"),
        ("\(String(repeating: "a", count: 65))=\(Self.list)", "the label must have at most 64 characters"),
        ("sig=\(Self.list);alg=\"hmac-sha256\"", "alg must be \"ed25519\""),
        ("sig=\(Self.list);keyid=k", "keyid must be in double quotes"),
        ("sig=\(Self.list);created=1", "created must have no value"),
        ("sig=\(Self.list);tag=\"t\"", "the parameter tag is not one of keyid, nonce, alg and created"),
        ("sig=\(Self.list);tag=\"t\", b=1", "the parameter tag"),
        ("sig=\(Self.list);keyid=\"a\";keyid=\"b\"", "a parameter appears twice"),
    ])
    func aRefusalNamesTheFault(field: String, text: String) {
        #expect {
            try SignatureRequest(acceptSignature: [field])
        } throws: {
            "\($0)".contains(text)
        }
    }
}
