internal import COpenSSL
package import Foundation

/// SHA-256, FIPS 180-4. A copy continues from the state of the original.
///
/// The functions below have been deprecated since libcrypto 3.0 in favour of `EVP_MD_CTX`, though
/// libcrypto's own provider calls them. An `EVP_MD_CTX` is on the heap, and must be copied and
/// freed, while the state here is a value of 112 bytes.
package struct SHA256: Sendable {
    package typealias Digest = SHA256Digest

    package static let byteCount = 32
    static let blockByteCount = 64

    private var state = SHA256_CTX()

    package init() {
        Self.require(copenssl_sha256_init(&self.state))
    }

    package mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
        Self.require(copenssl_sha256_update(&self.state, bytes.baseAddress, bytes.count))
    }

    package mutating func update(data: some DataProtocol) {
        data.withContiguousBytes { self.update(bufferPointer: $0) }
    }

    /// The hash of the bytes that were added so far; further bytes can be added afterwards.
    package func finalize() -> Digest {
        var state = self.state
        return Digest { Self.require(copenssl_sha256_final($0, &state)) }
    }

    package static func hash(data: some DataProtocol) -> Digest {
        var hash = SHA256()
        hash.update(data: data)
        return hash.finalize()
    }

    /// No input makes the call fail.
    private static func require(_ result: Int32) {
        precondition(result == 1, "libcrypto cannot hash")
    }
}

/// The 32 bytes of a hash, stored without an allocation.
package struct SHA256Digest: Sendable, Hashable, Sequence, ContiguousBytes {
    private var words = SIMD4<UInt64>()

    init(_ fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        withUnsafeMutableBytes(of: &self.words) { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { $0.baseAddress.map(fill) }
        }
    }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: self.words, body)
    }

    package func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try self.withUnsafeBytes { try $0.withMemoryRebound(to: UInt8.self, body) }
    }

    package var underestimatedCount: Int { SHA256.byteCount }

    package func makeIterator() -> Iterator { Iterator(words: self.words) }

    package struct Iterator: IteratorProtocol {
        fileprivate let words: SIMD4<UInt64>
        private var place = 0

        fileprivate init(words: SIMD4<UInt64>) {
            self.words = words
        }

        package mutating func next() -> UInt8? {
            guard self.place < SHA256.byteCount else { return nil }
            defer { self.place += 1 }
            return Swift.withUnsafeBytes(of: self.words) { $0[self.place] }
        }
    }

    /// Every comparison takes the same time.
    package static func == (one: SHA256Digest, other: SHA256Digest) -> Bool {
        (one.words ^ other.words).wrappedSum() == 0 && (one.words | other.words) == (one.words & other.words)
    }
}
