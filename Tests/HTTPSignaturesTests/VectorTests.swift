import Foundation
import Testing

@testable import HTTPSignatures

/// The vectors of RFC 9421, and vectors of this project that are derived from them.
@Suite(.timeLimit(.minutes(5))) struct VectorTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let name: String
        let components: [(component: SignatureComponent, value: String)]
        var algorithm: String?
        let length: Int
        let signature: String

        var testDescription: String { self.name }
    }

    private static let goodDog = "sha-256=:z0bm/K2/kBiAHdTk/FHlB2NyoHqaTdzCA9k+jeJ0ezA=:"
    private static let nothing = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
    private static let token = SignatureComponent("mytoken", isOfRequest: true)

    static let vectors = [
        Vector(
            name: "RFC 9421 B.2.6",
            components: [
                (SignatureComponent("date"), "Tue, 20 Apr 2021 02:07:55 GMT"),
                (SignatureComponent("@method"), "POST"),
                (SignatureComponent("@path"), "/foo"),
                (SignatureComponent("@authority"), "example.com"),
                (SignatureComponent("content-type"), "application/json"),
                (SignatureComponent("content-length"), "18"),
            ],
            length: 284,
            signature: "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
        ),
        Vector(
            name: "RFC 9421 B.4",
            components: [
                (SignatureComponent("@method"), "GET"),
                (SignatureComponent("@path"), "/demo"),
                (SignatureComponent("@authority"), "example.org"),
                (SignatureComponent("accept"), "application/json, */*"),
            ],
            length: 194,
            signature: "ZT1kooQsEHpZ0I1IjCqtQppOmIqlJPeo7DHR3SoMn0s5JZ1eRGS0A+vyYP9t/LXlh5QMFFQ6cpLt2m0pmj3NDA=="
        ),
        Vector(
            name: "an answer",
            components: [(.status, "200"), (.contentDigest, Self.goodDog), (Self.token, "0123456789abcdef")],
            algorithm: "ed25519",
            length: 241,
            signature: "CJcJfBiC4GvfbYsNbSbYERKJ5ALSTLJG19hwASzOpVszZq9K5WPCinGZHfC/os7kiU4iB+HnOlXfwISmnrWJCQ=="
        ),
        Vector(
            name: "an answer that names no algorithm",
            components: [(.status, "200"), (.contentDigest, Self.goodDog), (Self.token, "0123456789abcdef")],
            length: 227,
            signature: "ZhmCXc8jVHMoM4RjzuoD8jy2zdT7EkgWEyQi5C2edv0oPVy5mXxiJDTyuzSR4hmwV2VQtY2VjUvAnfWKBtn7Bw=="
        ),
        Vector(
            name: "a 304 with the digest of nothing",
            components: [(.status, "304"), (.contentDigest, Self.nothing), (Self.token, "0123456789abcdef")],
            algorithm: "ed25519",
            length: 241,
            signature: "nB6KZKaH7t8qQUldCs/++I+dZy+t1ouCtvSFDE/uCBj/YjnHp2p3dgjehKwN7+dX3SMg6MkSQweGiI1o27hiBA=="
        ),
        Vector(
            name: "a 304 with its ETag",
            components: [(.status, "304"), (.etag, #""33a64df5""#), (Self.token, "0123456789abcdef")],
            algorithm: "ed25519",
            length: 177,
            signature: "d+EooymDKB4xrZPEjveIo8PI7jzbp2M5yj6F4KxX9xD/aZTBXsN6gDV0zCgfub+ys00d+QDo6LDohcllmPFLCw=="
        ),
    ]

    @Test(arguments: Self.vectors)
    func baseAndSignatureMatchTheVector(vector: Vector) throws {
        let base = try SignatureBase(
            vector.components,
            created: SampleKey.created,
            keyID: SampleKey.id,
            algorithm: vector.algorithm
        )
        let key = try SampleKey.signing()
        let expected = try #require(Data(base64Encoded: vector.signature))
        #expect(base.text.utf8.count == vector.length)
        #expect(key.publicKey.isSignature(expected, over: base))
        #if !canImport(CryptoKit)  // CryptoKit's signatures are never the same.
            #expect(try key.signature(over: base) == expected)
        #endif
    }

    @Test func theBaseOfAnAnswerIsWrittenOutInFull() throws {
        let base = try SignatureBase(
            [(.status, "200"), (.contentDigest, Self.goodDog), (Self.token, "0123456789abcdef")],
            created: SampleKey.created,
            keyID: SampleKey.id,
            algorithm: "ed25519"
        )
        let expected = """
            "@status": 200
            "content-digest": sha-256=:z0bm/K2/kBiAHdTk/FHlB2NyoHqaTdzCA9k+jeJ0ezA=:
            "mytoken";req: 0123456789abcdef
            "@signature-params": ("@status" "content-digest" "mytoken";req);created=1618884473;keyid="test-key-ed25519";alg="ed25519"
            """
        #expect(base.text == expected)
    }

    @Test(arguments: [
        (200, Self.vectors[2]), (200, Self.vectors[3]), (304, Self.vectors[5]),
    ])
    func theVerifierTakesOurVectorsAsAnswers(status: Int, vector: Vector) throws {
        let list = InnerList(vector.components.map(\.component.item)).text
        let algorithm = vector.algorithm.map { ";alg=\"\($0)\"" } ?? ""
        let answer = SampleAnswer(
            status: status,
            body: status == 304 ? [] : Array(#"{"message": "good dog"}"#.utf8),
            request: SignedRequest(method: "GET", path: "/", query: nil, token: "0123456789abcdef"),
            fields: [
                ("content-digest", status == 304 ? "" : Self.goodDog), ("etag", #""33a64df5""#),
                ("signature-input", "sig=\(list);created=1618884473;keyid=\"test-key-ed25519\"\(algorithm)"),
                ("signature", "sig=:\(vector.signature):"),
            ]
        )
        let verifier = ResponseVerifier([SampleKey.id: try SampleKey.signing().publicKey], coverage: .answer)
        #expect(try answer.refusal(by: verifier) == nil)
    }

    /// The example of RFC 8037 appendix A.3.
    @Test func thumbprintMatchesTheRFC() throws {
        let key = try #require(VerificationKey(base64URL: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
        #expect(key.id == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
        #expect(key.base64URL == "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
    }

    @Test func publicKeyMatchesTheRFC() throws {
        #expect(try SampleKey.signing().publicKey.base64URL == "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs")
    }

    @Test(arguments: [
        "", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURp",
        "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHUR",
        "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo ", "ä",
    ])
    func invalidPublicKeysAreRefused(text: String) {
        #expect(VerificationKey(base64URL: text) == nil)
    }
}
