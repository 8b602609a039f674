import Foundation
import Testing

@testable import Cryptography

@Suite struct HMACTests {
    /// The vectors of RFC 4231 section 4. The RFC's fifth case contains only a part of the
    /// authentication code.
    @Test func codesMatchRFC4231() throws {
        let vectors = try Vector.read("HMAC/rfc-4231-sha256.txt")
        #expect(vectors.count == 6)
        for vector in vectors { try self.check(vector, key: "Key", message: "Msg", code: "MD") }
    }

    @Test func codesMatchWycheproof() throws {
        for vector in try Vector.wycheproof("hmac_sha256") where try vector.text("result") == "valid" {
            try self.check(vector, key: "key", message: "msg", code: "tag")
        }
    }

    @Test func forgedCodesDoNotMatch() throws {
        for vector in try Vector.wycheproof("hmac_sha256") where try vector.text("result") == "invalid" {
            let (key, number) = (SymmetricKey(data: try vector.bytes("key")), try vector.number("tcId"))
            let code = HMAC<SHA256>.authenticationCode(for: try vector.bytes("msg"), using: key)
            #expect(Data(code) != (try vector.bytes("tag")), "\(number)")
        }
    }

    private func check(_ vector: Vector, key: String, message: String, code: String) throws {
        let (key, message, code) = (try vector.bytes(key), try vector.bytes(message), try vector.bytes(code))
        #expect(Data(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key))) == code)
        var running = HMAC<SHA256>(key: SymmetricKey(data: key))
        running.update(data: message.prefix(5))
        running.update(data: ScatteredBytes(Array(message.dropFirst(5))))
        #expect(running.finalize().withUnsafeBytes { Data($0) } == code)
    }

    /// A block of SHA-256 is 64 bytes; HMAC hashes longer keys first.
    @Test(arguments: [0, 1, 63, 64, 65, 128, 1000])
    func codesMatchTheDefinitionForKeysOfAnyLength(count: Int) {
        let key = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let message = Data("what is signed".utf8)
        var block = count > 64 ? Data(SHA256.hash(data: key)) : key
        block.append(Data(count: 64 - block.count))
        let inner = SHA256.hash(data: Data(block.map { $0 ^ 0x36 }) + message)
        let expected = SHA256.hash(data: Data(block.map { $0 ^ 0x5C }) + Data(inner))
        #expect(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)).elementsEqual(expected))
    }

    @Test func copyContinuesIndependentlyAndOutlivesTheKey() {
        var key: SymmetricKey? = SymmetricKey(data: Data("Jefe".utf8))
        let text = Data("what do ya want for nothing?".utf8)
        let expected = key.map { HMAC<SHA256>.authenticationCode(for: text, using: $0) }
        let start = key.map { HMAC<SHA256>(key: $0) }
        key = nil
        for _ in 0..<2 {
            var code = start
            code?.update(data: text)
            #expect(code?.finalize() == expected)
        }
        #expect(start?.finalize() != expected)
    }
}

@Suite struct HKDFTests {
    /// The vectors with SHA-256 of RFC 5869 appendix A.
    @Test func derivedKeysMatchRFC5869() throws {
        let vectors = try Vector.read("KDF/rfc-5869-HKDF-SHA256.txt", upTo: "OKM")
        #expect(vectors.count == 3)
        for vector in vectors {
            #expect(try self.derive(vector, "IKM", try vector.number("L")) == vector.bytes("OKM"))
        }
    }

    @Test func derivedKeysMatchWycheproof() throws {
        for vector in try Vector.wycheproof("hkdf_sha256") where try vector.text("result") == "valid" {
            #expect(try self.derive(vector, "ikm", try vector.number("size")) == vector.bytes("okm"))
        }
    }

    private func derive(_ vector: Vector, _ material: String, _ count: Int) throws -> Data {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: try vector.bytes(material)),
            salt: try vector.bytes("salt"),
            info: try vector.bytes("info"),
            outputByteCount: count
        ).withUnsafeBytes { Data($0) }
    }

    @Test(arguments: [0, 1, 31, 32, 33, 8160])
    func shorterKeyIsAPrefixOfALongerOne(count: Int) {
        let material = SymmetricKey(data: Data("material".utf8))
        let longest = HKDF<SHA256>.deriveKey(inputKeyMaterial: material, info: Data("a".utf8), outputByteCount: 8160)
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: material,
            salt: Data(),
            info: ScatteredBytes(Array("a".utf8)),
            outputByteCount: count
        )
        #expect(key.bitCount == count * 8)
        #expect(longest.withUnsafeBytes { Data($0.prefix(count)) } == key.withUnsafeBytes { Data($0) })
    }
}
