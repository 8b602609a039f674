import Cryptography
import Foundation
import Testing

@testable import HTTPSignatures

/// Components of the request in the signature of the answer: the vectors of RFC 9421, and vectors
/// of this project with the RFC's key.
@Suite(.timeLimit(.minutes(5))) struct RequestVectorTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let components: [(component: SignatureComponent, value: String)]
        var created = Int64(1_618_884_479)
        let signature: String
    }

    private static let requestDigest =
        "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"
    private static let digest =
        "sha-512=:0Y6iCBzGg5rZtoXS95Ijz03mslf6KAMCloESHObfwnHJDbkkWWQz6PhhU9kxsTbARtY2PTBOzq24uJFpHsMuAg==:"
    private static let request = SignedRequest(
        method: "POST",
        path: "/foo",
        query: "param=Value&Pet=dog",
        token: "0123456789abcdef"
    )

    private static func ofRequest(_ component: SignatureComponent) -> (component: SignatureComponent, value: String) {
        (component, Self.request.value(of: component) ?? "")
    }

    private static func ofRequest(_ name: String, _ value: String) -> (component: SignatureComponent, value: String) {
        (SignatureComponent(name, isOfRequest: true), value)
    }

    /// The RFC's ECDSA key (B.1.3) made the signatures. They are valid only if the project signs
    /// the same bytes.
    static let examples = [
        Example(
            testDescription: "RFC 9421 2.4, an answer to a request",
            components: [
                (.status, "503"), (.contentDigest, Self.digest),
                (SignatureComponent("content-type"), "application/json"), Self.ofRequest("@authority", "example.com"),
                Self.ofRequest(.method), Self.ofRequest(.path), Self.ofRequest("content-digest", Self.requestDigest),
            ],
            signature: "dMT/A/76ehrdBTD/2Xx8QuKV6FoyzEP/I9hdzKN8LQJLNgzU4W767HK05rx1i8meNQQgQPgQp8wq2ive3tV5Ag=="
        ),
        Example(
            testDescription: "RFC 9421 2.4, an answer to a signed request",
            components: [
                (.status, "503"), (.contentDigest, Self.digest),
                (SignatureComponent("content-type"), "application/json"), Self.ofRequest("@authority", "example.com"),
                Self.ofRequest(.method), Self.ofRequest(.path), Self.ofRequest(.query),
                Self.ofRequest("content-digest", Self.requestDigest),
                Self.ofRequest("content-type", "application/json"), Self.ofRequest("content-length", "18"),
            ],
            signature: "C73J41GVKc+TYXbSobvZf0CmNcptRiWN+NY1Or0A36ISg6ymdRN6ZgR2QfrtopFNzqAyv+CeWrMsNbcV2Ojsgg=="
        ),
        Example(
            testDescription: "RFC 9421 B.2.4",
            components: [
                (.status, "200"), (SignatureComponent("content-type"), "application/json"),
                (
                    .contentDigest,
                    "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:"
                ), (SignatureComponent("content-length"), "23"),
            ],
            created: 1_618_884_473,
            signature: "wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw=="
        ),
    ]

    @Test(arguments: Self.examples)
    func baseFitsTheSignatureOfTheRFC(example: Example) throws {
        let point = "qIVYZVLCrPZHGHjP17CTW0/+D9Lfw0EkjqF7xB4FivAxzic30tMM4GF+hR6Dxh71Z50VGGdldkkDXZCnTNnoXQ=="
        let key = try P256.Signing.PublicKey(rawRepresentation: #require(Data(base64Encoded: point)))
        let bytes = try #require(Data(base64Encoded: example.signature))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes)
        let base = try SignatureBase(
            example.components,
            created: example.created,
            keyID: "test-key-ecc-p256",
            algorithm: nil
        )
        #expect(key.isValidSignature(signature, for: Data(base.text.utf8)))
        #expect(!key.isValidSignature(signature, for: Data(base.text.utf8) + [0x0A]))
    }

    /// Signatures that another implementation of Ed25519 made over lines that were written by
    /// hand.
    struct Own: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let list: String
        let status: Int
        let method: String
        let path: String
        let query: String?
        let length: Int
        let signature: String
    }

    static let own = [
        Own(
            testDescription: "a registration",
            list: #""@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req"#,
            status: 200,
            method: "PUT",
            path: "/api/register/7",
            query: nil,
            length: 344,
            signature: "hdAENmCX/S3ivtgZ3h6XocpTkvn1m/5p5zCM+BgYL0gBQn2z8lic4+ckIU8zD1sJx4HTgg8RM8EHtRId+m/4Cw=="
        ),
        Own(
            testDescription: "a list that has not changed",
            list: #""@status" "content-digest" "mytoken";req "@method";req "@path";req "@query";req"#,
            status: 304,
            method: "GET",
            path: "/api/notifications",
            query: "limit=500&since=a%2Bb",
            length: 304,
            signature: "oonLnTM44mY+utlRNtcfxyBHMQyzlirkBzcTgyzrA3eqSi2YgmJ//U7Lq9kBy+VZREifFZfMOloJ9NmKd9vBAQ=="
        ),
        Own(
            testDescription: "another order",
            list: #""@query";req "@status" "@path";req "content-digest" "@method";req "mytoken";req"#,
            status: 204,
            method: "DELETE",
            path: "/api/notifications/7",
            query: "",
            length: 352,
            signature: "DOUeNvSI8lMWujayTgU9wUbJDJuwSiDkhLq8jcUlSuvBRYS8h7KeeauIAWDl9/TO4i8XU4oYg33AVrzyHF+aAg=="
        ),
    ]

    @Test(arguments: Self.own)
    func signatureOverMethodAndTargetMatchesTheVector(vector: Own) throws {
        let coverage = try SignatureRequest(acceptSignature: ["sig=(\(vector.list))"]).coverage
        let digest = ContentDigest.field(of: vector.status == 200 ? Array(#"{"message": "good dog"}"#.utf8) : [])
        let base = try SignatureBase(
            coverage,
            status: vector.status,
            validator: vector.status == 304 ? #""33a64df5""# : digest,
            account: nil,
            request: SignedRequest(
                method: vector.method,
                path: vector.path,
                query: vector.query,
                token: "0123456789abcdef"
            ),
            parameters: SignatureBase.parameters(
                created: SampleKey.created,
                keyID: SampleKey.id,
                algorithm: SigningKey.algorithm
            )
        )
        let expected = try #require(Data(base64Encoded: vector.signature))
        #expect(base.text.utf8.count == vector.length)
        #expect(try SampleKey.signing().publicKey.isSignature(expected, over: base))
    }
}
