import Foundation
import Testing

@testable import Cryptography

@Suite struct SHA256Tests {
    /// NIST's SHA test vectors for byte-oriented messages.
    @Test(arguments: [("SHA256ShortMsg", 65), ("SHA256LongMsg", 64)])
    func hashesMatchNIST(file: String, count: Int) throws {
        let vectors = try Vector.read("hashes/SHA2/\(file).rsp").filter { $0.fields["MD"] != nil }
        #expect(vectors.count == count)
        for vector in vectors {
            let message = try vector.bytes("Msg").prefix(try vector.number("Len") / 8)
            #expect(Data(SHA256.hash(data: message)) == (try vector.bytes("MD")), "\(message.count) bytes")
            // The message is hashed in two parts. The second part is not contiguous in memory.
            var hash = SHA256()
            hash.update(data: message.prefix(message.count / 3))
            hash.update(data: ScatteredBytes(Array(message.dropFirst(message.count / 3))))
            #expect(Data(hash.finalize()) == (try vector.bytes("MD")), "\(message.count) bytes in pieces")
        }
    }

    /// The Monte Carlo test of NIST's SHA test vectors: 1,000 nested hashes for each of the first
    /// vectors.
    @Test func nestedHashesMatchNIST() throws {
        let vectors = try Vector.read("hashes/SHA2/SHA256Monte.rsp")
        var seed = try #require(try vectors.first { $0.fields["Seed"] != nil }?.bytes("Seed"))
        for vector in vectors.filter({ $0.fields["MD"] != nil }).prefix(10) {
            var last = [seed, seed, seed]
            for _ in 0..<1000 { last = [last[1], last[2], Data(SHA256.hash(data: last[0] + last[1] + last[2]))] }
            seed = last[2]
            #expect(seed == (try vector.bytes("MD")))
        }
    }

    @Test func copyContinuesIndependently() {
        var one = SHA256()
        one.update(data: Data("a".utf8))
        var other = one
        other.update(data: Data("b".utf8))
        one.update(data: Data("c".utf8))
        #expect(one.finalize() == SHA256.hash(data: Data("ac".utf8)))
        #expect(other.finalize() == SHA256.hash(data: Data("ab".utf8)))
        // After `finalize`, a hash can still be updated.
        other.update(data: Data("d".utf8))
        #expect(other.finalize() == SHA256.hash(data: Data("abd".utf8)))
    }

    @Test func aHashIsItsBytesHoweverItIsRead() {
        let hash = SHA256.hash(data: Data("abc".utf8))
        let bytes = hash.withUnsafeBytes { Array($0) }
        #expect(bytes.count == 32)
        #expect(bytes.first == 0xBA && bytes.last == 0xAD)
        #expect(Array(hash) == bytes)
        #expect(hash.map { $0 } == bytes)
        #expect(Array(hash.prefix(16)) == Array(bytes[..<16]))
        #expect(hash.withContiguousStorageIfAvailable { Array($0) } == bytes)
    }

    /// Two hashes are unequal, whether one bit differs or several bits do.
    @Test func hashesDifferWhereABitDoes() {
        let hash = SHA256.hash(data: Data("abc".utf8))
        let bytes = Array(hash)
        for bit in 0..<256 {
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            changed[(bit / 8 + 8) % 32] ^= 1 << (bit % 8)
            let other = SHA256Digest { $0.update(from: changed, count: 32) }
            #expect(other != hash, "\(bit)")
            #expect(SHA256Digest { $0.update(from: bytes, count: 32) } == hash)
        }
    }
}
