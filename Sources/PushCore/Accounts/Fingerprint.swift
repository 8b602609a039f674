internal import Cryptography
package import Foundation

/// The hash with which the server finds credentials, in memory and in the database. It has 32
/// bytes of SHA-256.
///
/// The duration of a lookup reveals nothing to an attacker: it depends on the hash, and an
/// attacker cannot choose credentials with a wanted hash.
package struct Fingerprint: Sendable, Hashable, BitwiseCopyable {
    // The 32 bytes. With a SIMD vector, Swift 6.3 makes the memory of some async functions too
    // small (`scripts/async-contexts`).
    private let first, second, third, fourth: UInt64

    /// Hashes the text in UTF-8, without a key. That is enough for secrets that cannot be guessed.
    package init(of text: Substring) {
        var hash = SHA256()
        var text = text
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        self = hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: Self.self) }
    }

    /// The text's HMAC under the key of `code`: without that key nobody can compute the
    /// fingerprint, even of a text that they have guessed.
    package init(of text: Substring, code: KeyedHash) {
        var text = text
        let digest = code.code { hash in text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) } }
        self = digest.withUnsafeBytes { $0.loadUnaligned(as: Self.self) }
    }

    /// Restores a fingerprint from its `bytes`; returns `nil` unless there are 32 bytes.
    package init?(bytes: Data) {
        guard bytes.count == MemoryLayout<Self>.size else { return nil }
        self = bytes.withUnsafeBytes { $0.loadUnaligned(as: Self.self) }
    }

    /// A part of the hash, which spreads fingerprints evenly over equal shares of a table.
    package var part: UInt64 { self.first }

    /// Hashes a quarter of the bytes for tables in memory: these bytes are a hash already.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.first)
    }

    /// The 32 bytes, for storing.
    package var bytes: Data { self.withUnsafeBytes { Data($0) } }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: self, body)
    }
}
