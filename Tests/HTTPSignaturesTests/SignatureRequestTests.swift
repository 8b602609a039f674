import HTTPSignatures
import Testing

@Suite(.timeLimit(.minutes(5))) struct SignatureRequestTests {
    private static let list = #"("@status" "content-digest" "mytoken";req)"#

    @Test func whatTheVerifierAsksForIsUnderstood() throws {
        let request = try SignatureRequest(acceptSignature: [ResponseVerifier.acceptSignature(keyID: "k-_1")])
        #expect(request.label == "sig" && request.keyID == "k-_1")
        #expect(try SignatureRequest(acceptSignature: [ResponseVerifier.acceptSignature()]).keyID == nil)
        #expect(ResponseVerifier.acceptSignature(keyID: "k") == "sig=\(Self.list);keyid=\"k\"")
        #expect(ResponseVerifier.acceptSignature(keyID: "k\n") == "sig=\(Self.list)")
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
        #"sig=("@status" "mytoken";req "content-digest")"#, #"sig=("@status" "content-digest" "mytoken";req "date")"#,
        #"sig=("@status" "content-digest" "mytoken";req;sf)"#, #"sig=("@status" "content-digest" "mytoken";req=?0)"#,
        #"sig=("@status" "content-digest" "mytoken";req;req)"#, #"sig=("@status" "content-digest" "MyToken";req)"#,
        #"sig=(@status "content-digest" "mytoken";req)"#, #"sig=("@status";req "content-digest" "mytoken";req)"#,
        "sig=\(Self.list);alg=\"hmac-sha256\"", "sig=\(Self.list);nonce=\"n\"", "sig=\(Self.list);tag=\"t\"",
        "sig=\(Self.list);expires", "sig=\(Self.list);keyid=k", "sig=\(Self.list);keyid=\"a\";keyid=\"b\"",
        "sig=\(Self.list), sig=\(Self.list)", "sig=\(Self.list),", "Sig=\(Self.list)",
        "\(String(repeating: "a", count: 65))=\(Self.list)", "sig=\(Self.list);keyid=\"ü\"",
    ])
    func whatCannotBeSignedIsRefused(field: String) {
        #expect(throws: SignatureFailure.self) { try SignatureRequest(acceptSignature: [field]) }
    }
}
