package import Foundation
internal import Glibc

extension AES.GCM {
    /// Twelve bytes that must never be used twice with one key.
    package struct Nonce: Sendable, Sequence, ContiguousBytes {
        private var bytes: (UInt64, UInt32) = (0, 0)

        /// A new random nonce.
        package init() {
            self.fill { bytes in
                // The kernel's random bytes: libcrypto's own generator takes three times as long,
                // and needs a system call, too.
                let result = getentropy(bytes.baseAddress, bytes.count)
                // A repeated nonce would reveal the encrypted texts and the key of the tags, so
                // the process ends instead.
                precondition(result == 0, "the kernel has no random bytes")
            }
        }

        /// Throws unless `data` has twelve bytes.
        package init(data: some DataProtocol) throws(CryptoKitError) {
            guard data.count == nonceByteCount else { throw .incorrectParameterSize }
            self.fill { $0.copyBytes(from: data) }
        }

        package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
            try Swift.withUnsafeBytes(of: self.bytes) { try body(.init(rebasing: $0[..<nonceByteCount])) }
        }

        package func makeIterator() -> Array<UInt8>.Iterator {
            self.withUnsafeBytes { Array($0) }.makeIterator()
        }

        private mutating func fill(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
            withUnsafeMutableBytes(of: &self.bytes) { body(.init(rebasing: $0[..<nonceByteCount])) }
        }
    }

    /// Nonce, ciphertext and tag, in a row.
    package struct SealedBox: Sendable {
        let whole: Data

        init(whole: Data) {
            self.whole = whole
        }

        /// Throws if `combined` is too short for a nonce and a tag.
        package init(combined: some DataProtocol) throws(CryptoKitError) {
            guard combined.count >= overhead else { throw .incorrectParameterSize }
            self.whole = combined as? Data ?? Data(combined)
        }

        /// Never `nil`, since all nonces here have twelve bytes.
        package var combined: Data? { self.whole }
        package var ciphertext: Data { self.whole.dropFirst(nonceByteCount).dropLast(tagByteCount) }
        package var tag: Data { self.whole.suffix(tagByteCount) }
    }
}
