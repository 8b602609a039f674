import COpenSSL
import Foundation
import Testing

@testable import Cryptography

@Suite struct Ed25519Tests {
    /// The vectors of ed25519.cr.yp.to. A line has four fields: the seed followed by the point,
    /// the point, the message, and the signature followed by the message.
    @Test func signaturesMatchTheInventorsVectors() throws {
        let lines = String(decoding: try Vector.file("asymmetric/Ed25519/sign.input"), as: UTF8.self).split(
            separator: "\n"
        )
        #expect(lines.count == 1024)
        for line in lines.prefix(256) {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false).compactMap {
                Data(hexadecimal: String($0))
            }
            try #require(fields.count >= 4)
            let (message, signature) = (fields[2], fields[3].prefix(64))
            let key = try Curve25519.Signing.PrivateKey(rawRepresentation: fields[0].prefix(32))
            #expect(key.publicKey.rawRepresentation == fields[1])
            #expect(key.rawRepresentation == fields[0].prefix(32))
            #expect(try key.signature(for: message) == signature)
            let publicKey = try Curve25519.Signing.PublicKey(rawRepresentation: fields[1])
            #expect(publicKey.isValidSignature(signature, for: message))
            #expect(!publicKey.isValidSignature(signature, for: message + [0]))
        }
    }

    @Test func verificationAgreesWithWycheproof() throws {
        for vector in try Vector.wycheproof("ed25519") {
            let number = try vector.number("tcId")
            let key = try Curve25519.Signing.PublicKey(rawRepresentation: vector.bytes("public"))
            let isValid = key.isValidSignature(
                try vector.bytes("sig"),
                for: ScatteredBytes(Array(try vector.bytes("msg")))
            )
            #expect(isValid == (try vector.text("result") == "valid"), "\(number)")
        }
        #expect(ERR_peek_error() == 0)
    }

    @Test(arguments: [0, 31, 33, 64])
    func aKeyIs32Bytes(count: Int) {
        let bytes = Data(repeating: 1, count: count)
        #expect(throws: CryptoKitError.incorrectKeySize) { try Curve25519.Signing.PrivateKey(rawRepresentation: bytes) }
        #expect(throws: CryptoKitError.incorrectKeySize) { try Curve25519.Signing.PublicKey(rawRepresentation: bytes) }
    }

    /// Invalid keys. No point has y = 2. The second value is p, another spelling of zero. Points
    /// with y = 0 or 1 have a small order. The last value has all bits set.
    @Test(arguments: [
        "02" + String(repeating: "00", count: 31),
        "ed" + String(repeating: "ff", count: 30) + "7f",
        String(repeating: "00", count: 32),
        "01" + String(repeating: "00", count: 31),
        String(repeating: "ff", count: 32),
    ])
    func unusualPointVerifiesNoSignatureOfAnotherKey(text: String) throws {
        let key = try Curve25519.Signing.PublicKey(rawRepresentation: try #require(Data(hexadecimal: text)))
        let message = Data("text".utf8)
        let signature = try Curve25519.Signing.PrivateKey().signature(for: message)
        #expect(!key.isValidSignature(signature, for: message))
        #expect(!key.isValidSignature(Data(), for: message))
        #expect(!key.isValidSignature(Data(repeating: 0xFF, count: 64), for: message))
        #expect(ERR_peek_error() == 0)
    }

    @Test func newKeysDiffer() {
        let keys = (0..<20).map { _ in Curve25519.Signing.PrivateKey() }
        #expect(Set(keys.map(\.rawRepresentation)).count == 20)
        #expect(Set(keys.map(\.publicKey.rawRepresentation)).count == 20)
    }
}
