import COpenSSL
import Foundation
import Testing

@testable import Cryptography

@Suite struct P256SigningTests {
    /// The private keys of NIST's vectors for ECDSA (FIPS 186-3), with their points.
    @Test func publicKeysMatchNIST() throws {
        let vectors = try Vector.read("asymmetric/ECDSA/FIPS_186-3/KeyPair.rsp")
        let keys = vectors.filter { $0.fields["d"]?.count == 64 && $0.fields["Qx"]?.count == 64 }
        var found = 0
        for vector in keys {
            let point = try vector.bytes("Qx") + vector.bytes("Qy")
            // The file also contains the keys of another curve of the same size.
            guard (try? P256.Signing.PublicKey(rawRepresentation: point)) != nil else { continue }
            let key = try P256.Signing.PrivateKey(rawRepresentation: vector.bytes("d"))
            #expect(key.publicKey.rawRepresentation == point)
            #expect(key.rawRepresentation == (try vector.bytes("d")))
            let agreeing = try P256.KeyAgreement.PrivateKey(rawRepresentation: vector.bytes("d"))
            #expect(agreeing.publicKey.x963Representation == [4] + point)
            found += 1
        }
        #expect(found >= 10)
    }

    /// The invalid points of NIST's vectors for ECDSA (FIPS 186-3).
    @Test func invalidPointsAreRefused() throws {
        let vectors = try Vector.read("asymmetric/ECDSA/FIPS_186-3/PKV.rsp").filter { $0.section == "P-256" }
        #expect(vectors.count == 12)
        for vector in vectors {
            let result = try vector.text("Result")
            // Some coordinates are too long for a key of 32 bytes. In place of one that cannot be
            // read as hexadecimal, the test takes 33 zeros.
            let (x, y) = (Data(hexadecimal: try vector.text("Qx")), Data(hexadecimal: try vector.text("Qy")))
            let raw = (x ?? Data(count: 33)) + (y ?? Data(count: 33))
            let isRead = (try? P256.Signing.PublicKey(rawRepresentation: raw)) != nil
            #expect(isRead == result.hasPrefix("P"), "\(result)")
            let isReadAgain = (try? P256.KeyAgreement.PublicKey(x963Representation: [4] + raw)) != nil
            #expect(isReadAgain == result.hasPrefix("P"), "\(result)")
        }
        #expect(ERR_peek_error() == 0)
    }

    /// The signatures of NIST's vectors for ECDSA (FIPS 186-3). In most vectors the message, the
    /// signature or the key has been changed.
    @Test func verificationAgreesWithNIST() throws {
        let vectors = try Vector.read("asymmetric/ECDSA/FIPS_186-3/SigVer.rsp").filter { $0.section == "P-256,SHA-256" }
        #expect(vectors.count == 15)
        for vector in vectors {
            let key = try P256.Signing.PublicKey(rawRepresentation: vector.bytes("Qx") + vector.bytes("Qy"))
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: vector.bytes("R") + vector.bytes("S"))
            let result = try vector.text("Result")
            #expect(key.isValidSignature(signature, for: try vector.bytes("Msg")) == result.hasPrefix("P"), "\(result)")
        }
    }

    @Test func verificationAgreesWithWycheproof() throws {
        for vector in try Vector.wycheproof("ecdsa_secp256r1_sha256_p1363") {
            let key = try P256.Signing.PublicKey(x963Representation: vector.bytes("public"))
            let number = try vector.number("tcId")
            // A signature of another length is invalid.
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: vector.bytes("sig"))
            let isValid = try signature.map { key.isValidSignature($0, for: try vector.bytes("msg")) }
            #expect(isValid ?? false == (try vector.text("result") == "valid"), "\(number)")
        }
        #expect(ERR_peek_error() == 0)
    }

    @Test func signatureIsValidForItsTextAndKeyOnly() throws {
        let (key, other) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        for count in [0, 1, 64, 10_000] {
            let text = Data(repeating: 3, count: count)
            let signature = try key.signature(for: ScatteredBytes(Array(text)))
            #expect(signature.rawRepresentation.count == 64)
            #expect(key.publicKey.isValidSignature(signature, for: text))
            #expect(!key.publicKey.isValidSignature(signature, for: text + [0]))
            #expect(!other.publicKey.isValidSignature(signature, for: text))
            var changed = signature.rawRepresentation
            changed[40] ^= 1
            let forged = try P256.Signing.ECDSASignature(rawRepresentation: changed)
            #expect(!key.publicKey.isValidSignature(forged, for: text))
        }
    }

    /// Zero, numbers that are not below the curve's order, and numbers of a wrong length.
    @Test(arguments: [
        "", "01", String(repeating: "00", count: 32), String(repeating: "ff", count: 32),
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632552", String(repeating: "01", count: 33),
    ])
    func invalidPrivateKeysAreRefused(text: String) throws {
        let bytes = try #require(Data(hexadecimal: text))
        #expect(throws: CryptoKitError.self) { try P256.Signing.PrivateKey(rawRepresentation: bytes) }
        #expect(throws: CryptoKitError.self) { try P256.KeyAgreement.PrivateKey(rawRepresentation: bytes) }
    }

    @Test func greatestScalarIsAValidKey() throws {
        let text = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550"
        let key = try P256.Signing.PrivateKey(rawRepresentation: try #require(Data(hexadecimal: text)))
        // The largest key is the order minus 1. Its point is the base point of the curve with the
        // opposite y.
        let one = try P256.Signing.PrivateKey(rawRepresentation: Data(count: 31) + [1])
        #expect(key.publicKey.rawRepresentation.prefix(32) == one.publicKey.rawRepresentation.prefix(32))
        #expect(key.publicKey.isValidSignature(try key.signature(for: Data()), for: Data()))
    }

    @Test(arguments: [0, 1, 64, 66, 130])
    func aPointHas65Bytes(count: Int) {
        let bytes = Data(repeating: 4, count: count)
        #expect(throws: CryptoKitError.self) { try P256.Signing.PublicKey(x963Representation: bytes) }
        #expect(throws: CryptoKitError.self) { try P256.KeyAgreement.PublicKey(x963Representation: bytes) }
    }

    /// The first bytes of compressed and hybrid points, and of the point at infinity.
    @Test(arguments: [0, 2, 3, 6, 7] as [UInt8])
    func aPointBeginsWithFour(first: UInt8) {
        var bytes = P256.Signing.PrivateKey().publicKey.x963Representation
        bytes[0] = first
        #expect(throws: CryptoKitError.self) { try P256.KeyAgreement.PublicKey(x963Representation: bytes) }
        #expect(throws: CryptoKitError.self) { try P256.KeyAgreement.PublicKey(x963Representation: bytes.prefix(33)) }
    }
}

@Suite struct P256KeyAgreementTests {
    /// NIST's vectors for key agreement with elliptic curves (SP 800-56A, without confirmation).
    /// If NIST has changed a key or the secret, this project's code must reject the key, or
    /// compute another secret.
    @Test(arguments: ["init", "resp"])
    func sharedSecretsMatchNIST(role: String) throws {
        let path = "asymmetric/ECDH/KASValidityTest_ECCStaticUnified_NOKC_ZZOnly_\(role).fax"
        let vectors = try Vector.read(path).filter { $0.section == "EC - SHA256" && $0.fields["Result"] != nil }
        #expect(vectors.count == 30)
        for vector in vectors {
            let result = try vector.text("Result")
            let point = try [4] + vector.bytes("QsCAVSx") + vector.bytes("QsCAVSy")
            let secret = try? P256.KeyAgreement.PrivateKey(rawRepresentation: vector.bytes("dsIUT"))
                .sharedSecretFromKeyAgreement(with: P256.KeyAgreement.PublicKey(x963Representation: point))
                .withUnsafeBytes { Data($0) }
            switch result.prefix(3) {
            case "P (": #expect(try secret == vector.bytes("Z"), "\(result)")
            case "F (" where result.contains("CAVS's"): #expect(secret == nil, "\(result)")
            case "F (" where result.contains("Z changed"): #expect(try secret != vector.bytes("Z"), "\(result)")
            // An error in the own public key does not matter, because the code computes that key
            // from the private key.
            default: break
            }
        }
    }

    @Test func sharedSecretsMatchWycheproof() throws {
        for vector in try Vector.wycheproof("ecdh_secp256r1_ecpoint") {
            let number = try vector.number("tcId")
            let secret = Result {
                let number = try vector.bytes("private").suffix(32)
                // The vector's number has no leading zeros, so the test adds them.
                return try P256.KeyAgreement.PrivateKey(rawRepresentation: Data(count: 32 - number.count) + number)
                    .sharedSecretFromKeyAgreement(with: .init(x963Representation: vector.bytes("public")))
                    .withUnsafeBytes { Data($0) }
            }
            if try vector.text("result") == "valid" {
                #expect(try secret.get() == vector.bytes("shared"), "\(number)")
            } else {
                // The vectors permit compressed points, but this project's code rejects them. It
                // must reject all invalid points.
                #expect(throws: CryptoKitError.self, "\(number)") { try secret.get() }
            }
        }
        #expect(ERR_peek_error() == 0)
    }

    @Test func bothSidesDeriveTheSameKey() throws {
        for _ in 0..<20 {
            let (one, other) = (P256.KeyAgreement.PrivateKey(), P256.KeyAgreement.PrivateKey())
            let sent = try P256.KeyAgreement.PublicKey(x963Representation: other.publicKey.x963Representation)
            func key(_ secret: SharedSecret) -> SymmetricKey {
                secret.hkdfDerivedSymmetricKey(
                    using: SHA256.self,
                    salt: Data("salt".utf8),
                    sharedInfo: Data("info".utf8),
                    outputByteCount: 32
                )
            }
            let mine = try one.sharedSecretFromKeyAgreement(with: sent)
            let theirs = try other.sharedSecretFromKeyAgreement(with: one.publicKey)
            #expect(key(mine) == key(theirs))
        }
    }

    @Test func threadsShareAKey() {
        let (one, other) = (P256.KeyAgreement.PrivateKey(), P256.KeyAgreement.PrivateKey())
        let signing = P256.Signing.PrivateKey()
        let expected = try? one.sharedSecretFromKeyAgreement(with: other.publicKey).withUnsafeBytes { Data($0) }
        let failures = Threads.run(8) { number in
            (0..<20).allSatisfy { turn in
                let text = Data([UInt8(number), UInt8(turn)])
                let secret = try? other.sharedSecretFromKeyAgreement(with: one.publicKey).withUnsafeBytes { Data($0) }
                guard secret == expected, let signature = try? signing.signature(for: text) else { return false }
                return signing.publicKey.isValidSignature(signature, for: text)
            }
        }
        #expect(failures == 0)
    }
}
