internal import Crypto
package import Foundation

/// What credentials are looked up by, in memory and in the database: 32 bytes of SHA-256.
///
/// Who looks up by it learns nothing from the time it takes: nobody chooses credentials by their hash.
package struct Fingerprint: Sendable, Hashable {
    private let words: SIMD4<UInt64>

    /// Hashes the text in UTF-8: enough for what nobody can guess.
    package init(of text: Substring) {
        var hash = SHA256()
        var text = text
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        self.words = hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
    }

    /// The text's code under the key of `code`: from what can be guessed, only those who have the key can make it.
    package init(of text: Substring, code: KeyedHash) {
        var text = text
        let digest = code.code { hash in text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) } }
        self.words = digest.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
    }

    /// Takes what `bytes` gave; `nil` unless it is as long.
    package init?(bytes: Data) {
        guard bytes.count == MemoryLayout<SIMD4<UInt64>>.size else { return nil }
        self.words = bytes.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
    }

    /// The 32 bytes, for storing.
    package var bytes: Data { self.withUnsafeBytes { Data($0) } }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: self.words, body)
    }
}
