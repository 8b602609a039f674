import Cryptography
import Foundation
import PushCore
import Testing

/// Published test vectors, checked with the functions that the server uses.
@Suite(.timeLimit(.minutes(5))) struct VectorTests {
    private static func bytes(_ hexadecimal: String) -> Data {
        let digits = Array(hexadecimal.utf8)
        return Data(
            stride(from: 0, to: digits.count, by: 2).compactMap { index in
                UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)
            }
        )
    }

    private static let plaintext = """
        d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
        1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255
        """
    private static let ciphertext = """
        522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
        8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad
        """
    private static let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"

    /// McGrew and Viega, The Galois/Counter Mode of Operation, appendix B, test cases 13 to 16.
    @Test(arguments: [
        (
            String(repeating: "0", count: 64), String(repeating: "0", count: 24), "", "", "",
            "530f8afbc74536b9a963b4f1c4cb738b"
        ),
        (
            String(repeating: "0", count: 64), String(repeating: "0", count: 24), "", String(repeating: "0", count: 32),
            "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"
        ),
        (key, "cafebabefacedbaddecaf888", "", plaintext, ciphertext, "b094dac5d93471bdec1a502270e3cc6c"),
        (
            key, "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2", String(plaintext.dropLast(8)),
            String(ciphertext.dropLast(8)), "76fc6ece0f4e1768cddf8853bb2d551b"
        ),
    ])
    func aesGCM(key: String, nonce: String, place: String, plaintext: String, ciphertext: String, tag: String) throws {
        let key = SymmetricKey(data: Self.bytes(key))
        let box = try AES.GCM.seal(
            Self.bytes(plaintext),
            using: key,
            nonce: AES.GCM.Nonce(data: Self.bytes(nonce)),
            authenticating: Self.bytes(place)
        )
        #expect(box.ciphertext == Self.bytes(ciphertext))
        #expect(box.tag == Self.bytes(tag))
        let sealed = try AES.GCM.SealedBox(combined: Self.bytes(nonce + ciphertext + tag))
        #expect(try AES.GCM.open(sealed, using: key, authenticating: Self.bytes(place)) == Self.bytes(plaintext))
    }

    /// RFC 5869 appendix A, test cases 1 and 3.
    @Test(arguments: [
        (
            "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        ),
        ("", "", "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
    ])
    func hkdf(salt: String, info: String, output: String) {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data(repeating: 0x0B, count: 22)),
            salt: Self.bytes(salt),
            info: Self.bytes(info),
            outputByteCount: 42
        )
        #expect(key.withUnsafeBytes { Data($0) } == Self.bytes(output))
    }

    /// RFC 4231 section 4, test cases 1, 2 and 6.
    @Test(arguments: [
        (
            Data(repeating: 0x0B, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Data("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            Data(repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func hmac(key: Data, text: String, code: String) {
        let key = SymmetricKey(data: key)
        let own = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
        #expect(Data(own) == Self.bytes(code))
        #expect(Data(KeyedHash(key: key).code { $0.update(data: Data(text.utf8)) }) == Self.bytes(code))
    }

    /// The keys are shorter or longer than a block of 64 bytes, or equally long. Each hash is
    /// computed twice, from a message in two portions.
    @Test(arguments: [0, 1, 32, 63, 64, 65, 200])
    func aKeyedHashIsAnHMAC(keyLength: Int) {
        let key = SymmetricKey(data: (0..<keyLength).map { UInt8($0) })
        let hash = KeyedHash(key: key)
        for length in [0, 1, 23, 24, 63, 64, 65, 1000] {
            let message = Data((0..<length).map { UInt8(truncatingIfNeeded: $0) })
            let expected = Data(HMAC<SHA256>.authenticationCode(for: message, using: key))
            for _ in 0..<2 {
                let own = hash.code { hash in
                    hash.update(data: message.prefix(length / 3))
                    hash.update(data: message.dropFirst(length / 3))
                }
                #expect(Data(own) == expected, "\(length) bytes")
            }
        }
    }

    /// FIPS 180-2 appendix B, and the hash of the empty text.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            String(repeating: "a", count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ])
    func aFingerprintIsSHA256(text: String, hash: String) {
        #expect(Fingerprint(of: text[...]).bytes == Self.bytes(hash))
    }

    /// RFC 6979 appendix A.2.5: its key and its signatures with SHA-256. The project's own
    /// signatures are random, so the test only verifies them with the key of the RFC.
    @Test(arguments: [
        (
            "sample",
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
            "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
        ),
        (
            "test",
            "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367",
            "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083"
        ),
    ])
    func ecdsa(text: String, r: String, s: String) throws {
        let privateKey = try P256.Signing.PrivateKey(
            rawRepresentation: Self.bytes("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721")
        )
        let publicKey = try P256.Signing.PublicKey(
            rawRepresentation: Self.bytes(
                "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
                    + "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
            )
        )
        #expect(privateKey.publicKey.rawRepresentation == publicKey.rawRepresentation)
        let published = try P256.Signing.ECDSASignature(rawRepresentation: Self.bytes(r + s))
        #expect(publicKey.isValidSignature(published, for: Data(text.utf8)))
        #expect(!publicKey.isValidSignature(published, for: Data("\(text)!".utf8)))
        #expect(publicKey.isValidSignature(try privateKey.signature(for: Data(text.utf8)), for: Data(text.utf8)))
    }
}
