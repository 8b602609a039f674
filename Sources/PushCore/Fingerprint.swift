internal import Crypto
package import Foundation

/// The SHA-256 of credentials, by which they are looked up, in memory and in the database.
///
/// Who looks up by it learns nothing from the time it takes: nobody chooses credentials by their hash.
package struct Fingerprint: Sendable, Hashable {
    private let words: SIMD4<UInt64>

    /// Hashes the text in UTF-8, behind the salt.
    package init(of text: Substring, salt: [UInt8] = []) {
        var hash = SHA256()
        if !salt.isEmpty { salt.withUnsafeBytes { hash.update(bufferPointer: $0) } }
        var text = text
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        self.words = hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
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
