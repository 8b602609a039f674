import ClientPeers
import Cryptography
import Foundation
import PushTesting
import Testing

@testable import PushClient

@Suite(.timeLimit(.minutes(5))) struct PinTests {
    /// The key has the form that Apple's Security framework exports from a certificate. Its pin
    /// must be the one that openssl computes.
    @Test(
        arguments: [
            ("EC", "ec_paramgen_curve:P-256", 65), ("EC", "ec_paramgen_curve:P-384", 97),
            ("EC", "ec_paramgen_curve:P-521", 133), ("RSA", "rsa_keygen_bits:1024", nil),
            ("RSA", "rsa_keygen_bits:2048", nil),
        ] as [(String, String, Int?)]
    )
    func aKeyIsHashedAsOpensslDoes(algorithm: String, option: String, pointLength: Int?) async throws {
        let der = try await Self.openssl(
            "openssl genpkey -algorithm \(algorithm) -pkeyopt \(option) | openssl pkey -pubout -outform der"
        )
        let raw: [UInt8]
        if let pointLength {
            raw = Array(der.suffix(pointLength))
        } else {
            // For RSA, the bit string contains the key in the form of PKCS #1.
            raw = try await Array(
                Self.openssl("openssl pkey -pubin -inform der | openssl rsa -pubin -RSAPublicKey_out -outform der", der)
            )
        }
        let key = try #require(SubjectPublicKeyInfo(pointLength == nil ? .rsa : .ellipticCurve, key: raw))
        #expect(key.bytes == Array(der))
        let pin = try #require(PushClient.KeyPin(sha256: Data(SHA256.hash(data: der)).base64EncodedString()))
        #expect(pin.matches(key))
        let other = try #require(PushClient.KeyPin(sha256: Data(SHA256.hash(data: der + [0])).base64EncodedString()))
        #expect(!other.matches(key))
    }

    @Test func anUnknownCurveHasNoPin() {
        #expect(SubjectPublicKeyInfo(.ellipticCurve, key: [UInt8](repeating: 4, count: 57)) == nil)
    }

    @Test(arguments: [
        "", "AAAA", Data(count: 31).base64EncodedString(), "sha256/" + Data(count: 32).base64EncodedString(),
    ])
    func anInvalidHashIsRefusedAsAPin(text: String) {
        #expect(PushClient.KeyPin(sha256: text) == nil)
    }

    /// These numbers stand in for Apple's Security framework, which Linux lacks: a chain that the
    /// framework refuses because of its dates has the same name as without pinned keys.
    @Test(
        arguments: [
            (-67818, .wrongClock, .clock), (-67819, .wrongClock, .clock), (-67843, .untrustedKey, .pin),
            (nil, .untrustedKey, .pin),
        ] as [(Int?, Interference.Kind, PushClient.Advice)]
    )
    func aRefusedChainIsNamedByItsReason(code: Int?, kind: Interference.Kind, advice: PushClient.Advice) throws {
        let refusal = URLError(NetworkFailure.code(ofTrust: code))
        let found = try #require(NetworkFailure.refusedCertificate(refusal, path: "/api/register"))
        #expect(found.kind == kind)
        #expect(PushClient.Advice(for: PushClientError.interference(found)) == advice)
    }

    #if !canImport(Security)
        @Test func aClientThatCannotComparePinsSendsNothing() async throws {
            let pin = try #require(PushClient.KeyPin(sha256: Data(count: 32).base64EncodedString()))
            for trust in [PushClient.ServerTrust.pinned([pin]), .pinned([])] {
                let options = PushClient.Options(testing: [], serverTrust: trust)
                try await ScriptedPeer.run(
                    { request, _ in .answer(PeerAnswer(to: request, body: Samples.item(7))) },
                    options: options
                ) {
                    peer,
                    client in
                    await #expect(throws: PushClientError.pinningUnavailable) { try await client.notification(7) }
                    await #expect(throws: PushClientError.pinningUnavailable) { try await client.sync() }
                    #expect(peer.requests.isEmpty)
                }
            }
        }
    #endif

    /// Returns the output of a shell command for this input.
    private static func openssl(_ command: String, _ input: Data = Data()) async throws -> Data {
        let folder = try TemporaryFolder()
        try input.write(to: URL(fileURLWithPath: folder.file("in")))
        let ended = try await ChildProcess("/bin/sh", ["-c", "(\(command)) < in > out"], in: folder.path).end()
        try #require(ended.code == 0, "\(ended.errors)")
        return try Data(contentsOf: URL(fileURLWithPath: folder.file("out")))
    }
}
