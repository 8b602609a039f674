import Bytes
import COpenSSL
import Cryptography
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct ECDSATests {
    /// The names of each curve and its hash in NIST's files.
    private static let curves: [(ECDSA.Curve, name: String, hash: String)] = [
        (.p256, "P-256", "SHA-256"), (.p384, "P-384", "SHA-384"), (.p521, "P-521", "SHA-512"),
    ]

    /// In NIST's files, some numbers have an odd count of digits, and numbers that are out of
    /// range have too many digits.
    private static func bytes(_ vector: Vector, _ name: String, on curve: ECDSA.Curve) throws -> Data {
        let text = try vector.text(name)
        let missing = max(curve.scalarByteCount * 2 - text.count, text.count % 2)
        return try #require(Data(hexadecimal: String(repeating: "0", count: missing) + text))
    }

    /// The signatures of NIST's vectors for ECDSA (FIPS 186-3). In most vectors the message, the
    /// signature or the key has been changed.
    @Test(arguments: curves) func verificationAgreesWithNIST(
        curve: ECDSA.Curve,
        name: String,
        hash: String
    ) throws {
        let vectors = try Vector.read("asymmetric/ECDSA/FIPS_186-3/SigVer.rsp").filter {
            $0.section == "\(name),\(hash)"
        }
        #expect(vectors.count == 15)
        for vector in vectors {
            func bytes(_ name: String) throws -> Data { try Self.bytes(vector, name, on: curve) }
            let key = try ECDSA.PublicKey(rawRepresentation: bytes("Qx") + bytes("Qy"), on: curve)
            let isValid = key.isValidSignature(try bytes("R") + bytes("S"), for: try vector.bytes("Msg"))
            let result = try vector.text("Result")
            #expect(isValid == result.hasPrefix("P"), "\(result)")
        }
        #expect(ERR_peek_error() == 0)
    }

    /// The invalid public keys of NIST's vectors for ECDSA (FIPS 186-3): coordinates out of range,
    /// and points that are not on the curve.
    @Test(arguments: curves) func invalidPointsAreRefused(curve: ECDSA.Curve, name: String, hash: String) throws {
        let vectors = try Vector.read("asymmetric/ECDSA/FIPS_186-3/PKV.rsp").filter { $0.section == name }
        #expect(vectors.count == 12)
        for vector in vectors {
            let (x, y) = try (Self.bytes(vector, "Qx", on: curve), Self.bytes(vector, "Qy", on: curve))
            let isRead = (try? ECDSA.PublicKey(rawRepresentation: x + y, on: curve)) != nil
            let result = try vector.text("Result")
            #expect(isRead == result.hasPrefix("P"), "\(result)")
        }
        #expect(ERR_peek_error() == 0)
    }

    /// The example of RFC 7515 appendix A.4.
    @Test func signatureOfRFC7515IsValid() throws {
        func bytes(_ text: String) throws -> [UInt8] { try #require(Base64.url.bytes(in: text.utf8)) }
        let x = try bytes("AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk")
        let y = try bytes("ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2")
        let signature = try bytes(
            "AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCA"
                + "PZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn"
        )
        let key = try ECDSA.PublicKey(rawRepresentation: x + y, on: .p521)
        #expect(key.isValidSignature(signature, for: Data("eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA".utf8)))
        #expect(!key.isValidSignature(signature, for: Data("eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZB".utf8)))
    }

    @Test(arguments: ECDSA.Curve.allCases) func signatureIsValidForItsTextAndKeyOnly(curve: ECDSA.Curve) throws {
        let (key, other) = try (ECDSA.PrivateKey(on: curve), ECDSA.PrivateKey(on: curve))
        let text = Data("header.claims".utf8)
        let signature = try key.signature(for: text)
        #expect(signature.count == 2 * curve.scalarByteCount)
        let read = try ECDSA.PublicKey(rawRepresentation: key.publicKey.rawRepresentation, on: curve)
        #expect(read.isValidSignature(signature, for: text))
        #expect(!read.isValidSignature(signature, for: text + [0]))
        #expect(!other.publicKey.isValidSignature(signature, for: text))
        let zeros = Data(count: signature.count)
        for forged in [Data(), zeros, signature.dropLast(), signature + [0], [0] + signature] {
            #expect(!read.isValidSignature(forged, for: text), "\(forged.count)")
        }
        #expect(ERR_peek_error() == 0)
    }

    @Test func pointOfAnotherCurveIsRefused() throws {
        for curve in ECDSA.Curve.allCases {
            let point = try ECDSA.PrivateKey(on: curve).publicKey.rawRepresentation
            for other in ECDSA.Curve.allCases where other != curve {
                #expect(throws: CryptoKitError.self) { try ECDSA.PublicKey(rawRepresentation: point, on: other) }
                let padded = Data(count: max(0, 2 * other.scalarByteCount - point.count)) + point
                let cut = padded.prefix(2 * other.scalarByteCount)
                #expect(throws: CryptoKitError.self) { try ECDSA.PublicKey(rawRepresentation: cut, on: other) }
            }
        }
        #expect(ERR_peek_error() == 0)
    }
}
