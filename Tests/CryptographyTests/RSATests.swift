import COpenSSL
import Cryptography
import Foundation
import PushTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct RSATests {
    @Test func signaturesMatchWycheproof() throws {
        for vector in try Vector.wycheproof("rsa_pkcs1_2048_sig_gen") {
            let key = try RSA.Signing.PrivateKey(pemRepresentation: PEMTests.pem(vector.bytes("key")))
            let number = try vector.number("tcId")
            let signature = try key.signature(for: ScatteredBytes(Array(try vector.bytes("msg"))), padding: .pkcs1v15)
            #expect(signature == (try vector.bytes("sig")), "\(number)")
        }
    }

    /// The hashes, and their names in NIST's files.
    private static let hashes: [(SignatureHash, name: String)] = [
        (.sha256, "SHA256"), (.sha384, "SHA384"), (.sha512, "SHA512"),
    ]

    /// NIST's vectors for RSA signatures. In most of them, the message, the exponent, the
    /// signature or its form is changed.
    @Test(arguments: hashes) func publicKeysAgreeWithNIST(hash: SignatureHash, name: String) throws {
        var modulus: [UInt8] = []
        var counts = [true: 0, false: 0]
        let file = "asymmetric/RSA/FIPS_186-2/SigVer15_186-3.rsp"
        for vector in try Vector.read(file) where ["mod = 2048", "mod = 3072", "mod = 4096"].contains(vector.section) {
            if let n = try? vector.bytes("n") { modulus = Array(n) }
            guard vector.fields["SHAAlg"] == name else { continue }
            let key = try RSA.Signing.PublicKey(n: modulus, e: Array(vector.bytes("e")))
            let (signature, message) = try (vector.bytes("S"), vector.bytes("Msg"))
            let isValid = key.isValidSignature(signature, for: message, padding: .pkcs1v15, hash: hash)
            #expect(isValid == (try vector.text("Result").hasPrefix("P")))
            counts[isValid, default: 0] += 1
        }
        #expect(counts == [true: 9, false: 45])
        #expect(ERR_peek_error() == 0)
    }

    /// In NIST's valid PSS signatures, the salt has 10 bytes. In tokens, the salt must be as long
    /// as the hash, so NIST's signatures are refused.
    @Test(arguments: hashes) func shortSaltsOfNISTAreRefused(hash: SignatureHash, name: String) throws {
        var modulus: [UInt8] = []
        var count = 0
        let file = "asymmetric/RSA/FIPS_186-2/SigVerPSS_186-3.rsp"
        for vector in try Vector.read(file) where ["mod = 2048", "mod = 3072", "mod = 4096"].contains(vector.section) {
            if let n = try? vector.bytes("n") { modulus = Array(n) }
            guard vector.fields["SHAAlg"] == name, try vector.text("Result").hasPrefix("P") else { continue }
            let key = try RSA.Signing.PublicKey(n: modulus, e: Array(vector.bytes("e")))
            let (signature, message) = try (vector.bytes("S"), vector.bytes("Msg"))
            #expect(!key.isValidSignature(signature, for: message, padding: .pss, hash: hash))
            count += 1
        }
        #expect(count == 9)
        #expect(ERR_peek_error() == 0)
    }

    /// The Python package cryptography makes signatures with both paddings, and with two PSS
    /// variants that must be rejected.
    @Test(arguments: hashes)
    func bothPaddingsAgreeWithAnotherImplementation(hash: SignatureHash, name: String) async throws {
        struct Question: Encodable {
            let key: String
            let hash: String
            let message: Data
            let signatures: [String: Data]
        }
        struct Answer: Decodable {
            let n: Data
            let e: Data
            let signatures: [String: Data]
            let areValid: [String: Bool]
        }
        let key = try RSA.Signing.PrivateKey()
        let message = Data("header.claims".utf8)
        let own = [
            "pkcs1v15": try key.signature(for: message, padding: .pkcs1v15, hash: hash),
            "pss": try key.signature(for: message, padding: .pss, hash: hash),
        ]
        let question = Question(key: key.pemRepresentation, hash: name, message: message, signatures: own)
        let answer = try #require(try await Oracle.answers(of: "rsa_oracle.py", to: [question], as: Answer.self).first)
        #expect(answer.areValid == ["pkcs1v15": true, "pss": true])
        #expect([key.publicKey.n, key.publicKey.e] == [Array(answer.n), Array(answer.e)])
        let publicKey = try RSA.Signing.PublicKey(n: Array(answer.n), e: Array(answer.e))
        for padding in [RSA.Signing.Padding.pkcs1v15, .pss] {
            let valid = answer.signatures.filter {
                publicKey.isValidSignature($1, for: message, padding: padding, hash: hash)
            }
            #expect(Array(valid.keys) == ["\(padding)"])
            for other in SignatureHash.allCases where other != hash {
                let isValid = answer.signatures.values.contains {
                    publicKey.isValidSignature($0, for: message, padding: padding, hash: other)
                }
                #expect(!isValid, "\(other)")
            }
        }
        #expect(answer.signatures.count == 4)
    }

    /// Public keys that are refused: short or even moduli, invalid exponents, and the exponent 1,
    /// which makes each number its own signature.
    @Test(
        arguments: [
            ([UInt8](repeating: 255, count: 255), [1, 0, 1]), ([UInt8](repeating: 254, count: 256), [1, 0, 1]),
            ([UInt8](repeating: 255, count: 256), [1, 0, 0]), ([UInt8](repeating: 255, count: 256), [0, 1]),
            ([UInt8](repeating: 255, count: 256), []), ([], [1, 0, 1]),
        ] as [([UInt8], [UInt8])]
    )
    func weakPublicKeysAreRefused(n: [UInt8], e: [UInt8]) {
        #expect(throws: CryptoKitError.invalidParameter) { try RSA.Signing.PublicKey(n: n, e: e) }
        #expect(ERR_peek_error() == 0)
    }

    @Test func pkcs1KeyIsRead() throws {
        let text = String(
            decoding: try Vector.file("asymmetric/Traditional_OpenSSL_Serialization/testrsa.pem"),
            as: UTF8.self
        )
        let key = try RSA.Signing.PrivateKey(pemRepresentation: text)
        #expect(try key.signature(for: Data(), padding: .pkcs1v15).count == 256)
    }

    /// Private keys that are refused: too short, for another padding, of another kind, encrypted,
    /// or with inconsistent numbers.
    @Test(arguments: [
        "PKCS8/unenc-rsa-pkcs8.pem", "PKCS8/rsa_pss_2048.pem", "PKCS8/ec_private_key.pem",
        "PEM_Serialization/rsa_private_key.pem", "PEM_Serialization/rsa_public_key.pem",
        "PEM_Serialization/rsa-bad-1025-q-is-2.pem", "Traditional_OpenSSL_Serialization/testrsa-encrypted.pem",
        "Traditional_OpenSSL_Serialization/key1-malformed-iv.pem",
    ])
    func pemWithoutAnRSAPrivateKeyIsRefused(path: String) throws {
        let text = String(decoding: try Vector.file("asymmetric/\(path)"), as: UTF8.self)
        #expect(throws: CryptoKitError.invalidParameter) { try RSA.Signing.PrivateKey(pemRepresentation: text) }
        #expect(ERR_peek_error() == 0)
    }

    /// The changed places are in the modulus, the exponents, the primes and the values derived
    /// from them.
    @Test func aKeyWithAChangedNumberIsRefused() throws {
        let vector = try #require(try Vector.wycheproof("rsa_pkcs1_2048_sig_gen").first)
        let der = try vector.bytes("key")
        for place in [60, 200, 320, 400, 600, 700, 800] {
            var changed = der
            changed[place] ^= 4
            #expect(throws: CryptoKitError.self, "\(place)") {
                try RSA.Signing.PrivateKey(pemRepresentation: PEMTests.pem(changed))
            }
        }
        #expect(ERR_peek_error() == 0)
    }
}
