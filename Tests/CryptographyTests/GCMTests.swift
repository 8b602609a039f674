import COpenSSL
import Foundation
import Testing

@testable import Cryptography

@Suite struct GCMTests {
    private static let key = SymmetricKey(size: .bits256)
    private static let text = Data("The quick brown fox".utf8)
    private static let place = Data("here".utf8)

    /// The vectors of NIST's Galois/Counter Mode Validation System that have nonces and tags of
    /// the usual length.
    @Test(arguments: [128, 192, 256])
    func nistCiphertextsDecryptAndForgeriesFail(bits: Int) throws {
        let vectors = try Vector.read("ciphers/AES/GCM/gcmDecrypt\(bits).rsp")
            .filter { $0.fields["IV"]?.count == 24 && $0.fields["Tag"]?.count == 32 }
        #expect(vectors.count == 375)
        #expect(vectors.count { $0.fields["FAIL"] != nil } > 150)
        for vector in vectors {
            let sealed = try vector.bytes("IV") + vector.bytes("CT") + vector.bytes("Tag")
            let box = try AES.GCM.SealedBox(combined: sealed)
            let key = SymmetricKey(data: try vector.bytes("Key"))
            let place = try vector.bytes("AAD")
            if vector.fields["FAIL"] == nil {
                let text = try vector.bytes("PT")
                #expect(try AES.GCM.open(box, using: key, authenticating: place) == text)
                let nonce = try AES.GCM.Nonce(data: vector.bytes("IV"))
                #expect(try AES.GCM.seal(text, using: key, nonce: nonce, authenticating: place).combined == sealed)
            } else {
                #expect(throws: CryptoKitError.authenticationFailure) {
                    try AES.GCM.open(box, using: key, authenticating: place)
                }
            }
        }
    }

    @Test func wycheproofCiphertextsDecryptAndForgeriesFail() throws {
        for vector in try Vector.wycheproof("aes_gcm") {
            let sealed = try vector.bytes("iv") + vector.bytes("ct") + vector.bytes("tag")
            let (key, place) = (SymmetricKey(data: try vector.bytes("key")), try vector.bytes("aad"))
            let number = try vector.number("tcId")
            let opened = Result {
                try AES.GCM.open(.init(combined: sealed), using: key, authenticating: place)
            }
            if try vector.text("result") == "valid" {
                #expect(try opened.get() == vector.bytes("msg"), "\(number)")
                let nonce = try AES.GCM.Nonce(data: vector.bytes("iv"))
                let own = try AES.GCM.seal(vector.bytes("msg"), using: key, nonce: nonce, authenticating: place)
                #expect(own.combined == sealed, "\(number)")
            } else {
                #expect(throws: CryptoKitError.authenticationFailure, "\(number)") { try opened.get() }
            }
        }
    }

    /// One context is used repeatedly, for encryption and decryption.
    @Test(arguments: [0, 1, 15, 16, 17, 1000, 100_000])
    func encryptedTextOfAnyLengthDecrypts(count: Int) throws {
        let text = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        for turn in 1...20 {
            let place = Data(repeating: 1, count: turn)
            let box = try AES.GCM.seal(ScatteredBytes(Array(text)), using: Self.key, authenticating: place)
            #expect(box.ciphertext.count == count)
            #expect(box.tag.count == 16)
            let again = try AES.GCM.SealedBox(combined: Array(try #require(box.combined)))
            #expect(try AES.GCM.open(again, using: Self.key, authenticating: ScatteredBytes(Array(place))) == text)
            if turn.isMultiple(of: 3) {
                #expect(throws: CryptoKitError.authenticationFailure) { try AES.GCM.open(again, using: Self.key) }
            }
        }
    }

    @Test func decryptionFailsWithAnyBitChanged() throws {
        let sealed = try #require(try AES.GCM.seal(Self.text, using: Self.key, authenticating: Self.place).combined)
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << (bit % 8)
            self.expectForged(changed, Self.key, Self.place)
        }
        for bit in 0..<Self.place.count * 8 {
            var changed = Self.place
            changed[bit / 8] ^= 1 << (bit % 8)
            self.expectForged(sealed, Self.key, changed)
        }
        self.expectForged(sealed, SymmetricKey(size: .bits256), Self.place)
        self.expectForged(sealed, SymmetricKey(size: .bits128), Self.place)
        for count in 28..<sealed.count { self.expectForged(sealed.prefix(count), Self.key, Self.place) }
    }

    private func expectForged(_ sealed: Data, _ key: SymmetricKey, _ place: Data) {
        #expect(throws: CryptoKitError.authenticationFailure) {
            try AES.GCM.open(.init(combined: sealed), using: key, authenticating: place)
        }
    }

    @Test func forgeryLeavesNoPlaintextAndNoErrorForTLS() throws {
        let sealed = try #require(try AES.GCM.seal(Self.text, using: Self.key, authenticating: Self.place).combined)
        var plaintext = [UInt8](repeating: 0xAA, count: Self.text.count)
        #expect(throws: CryptoKitError.authenticationFailure) {
            try sealed.withUnsafeBytes { sealed in
                try plaintext.withUnsafeMutableBytes { plaintext in
                    try AES.GCM.open(
                        sealed,
                        using: Self.key,
                        authenticating: .init(start: nil, count: 0),
                        into: plaintext
                    )
                }
            }
        }
        #expect(plaintext == [UInt8](repeating: 0, count: Self.text.count))
        #expect(ERR_peek_error() == 0)
    }

    @Test(arguments: 0...28)
    func aBoxHasRoomForNonceAndTag(count: Int) {
        let box = try? AES.GCM.SealedBox(combined: Data(count: count))
        #expect((box != nil) == (count == 28))
    }

    @Test(arguments: [0, 1, 11, 12, 13, 16])
    func aNonceIsTwelveBytes(count: Int) {
        let nonce = try? AES.GCM.Nonce(data: Data(repeating: 5, count: count))
        #expect(nonce.map { Array($0) } == (count == 12 ? [UInt8](repeating: 5, count: 12) : nil))
    }

    @Test(arguments: [0, 1, 15, 17, 31, 33, 64])
    func keysOfUnsupportedSizesAreRefused(count: Int) throws {
        let key = SymmetricKey(data: Data(count: count))
        #expect(throws: CryptoKitError.incorrectKeySize) { try AES.GCM.seal(Self.text, using: key) }
        let box = try AES.GCM.seal(Self.text, using: Self.key)
        #expect(throws: CryptoKitError.incorrectKeySize) { try AES.GCM.open(box, using: key) }
    }

    @Test func noNonceIsUsedTwice() throws {
        let boxes = try (0..<1000).map { _ in try AES.GCM.seal(Self.text, using: Self.key) }
        #expect(Set(boxes.compactMap { $0.combined?.prefix(12) }).count == 1000)
    }

    /// More threads use the key at the same time than the key has slots for contexts.
    @Test func threadsShareAKey() throws {
        let key = SymmetricKey(size: .bits256)
        let failures = Threads.run(40) { number in
            for turn in 0..<200 {
                let (text, place) = (Data(repeating: UInt8(number), count: turn), Data([UInt8(turn)]))
                guard
                    let box = try? AES.GCM.seal(text, using: key, authenticating: place),
                    let opened = try? AES.GCM.open(box, using: key, authenticating: place), opened == text,
                    (try? AES.GCM.open(box, using: key)) == nil
                else { return false }
            }
            return true
        }
        #expect(failures == 0)
    }
}

@Suite struct BlockTests {
    /// The vectors of NIST's Advanced Encryption Standard Algorithm Validation Suite.
    @Test(arguments: ["GFSbox", "KeySbox", "VarTxt", "VarKey"], [128, 192, 256])
    func blocksMatchNIST(kind: String, bits: Int) throws {
        let vectors = try Vector.read("ciphers/AES/ECB/ECB\(kind)\(bits).rsp").filter { $0.fields["KEY"] != nil }
        #expect(!vectors.isEmpty)
        for vector in vectors {
            let key = SymmetricKey(data: try vector.bytes("KEY"))
            var block = Array(try vector.bytes("PLAINTEXT"))
            try AES.permute(&block, key: key)
            #expect(Data(block) == (try vector.bytes("CIPHERTEXT")))
            try AES.inversePermute(&block, key: key)
            #expect(Data(block) == (try vector.bytes("PLAINTEXT")))
        }
    }

    @Test func blockOfAnotherLengthIsRefusedAndUnchanged() {
        for count in [0, 15, 17, 32] {
            var block = [UInt8](repeating: 1, count: count)
            #expect(throws: CryptoKitError.incorrectParameterSize) {
                try AES.permute(&block, key: SymmetricKey(size: .bits256))
            }
            #expect(block == [UInt8](repeating: 1, count: count))
        }
        var block = [UInt8](repeating: 1, count: 16)
        #expect(throws: CryptoKitError.incorrectKeySize) {
            try AES.inversePermute(&block, key: SymmetricKey(data: Data(count: 20)))
        }
    }
}
