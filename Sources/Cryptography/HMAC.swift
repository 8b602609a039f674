internal import COpenSSL
package import Foundation

/// HMAC, RFC 2104; with SHA-256 only. A copy continues from the original's state. So the
/// key is hashed only once if a copy of one object computes each code.
package struct HMAC<Hash>: Sendable {
    package typealias MAC = HashedAuthenticationCode

    private var inner = SHA256()
    private var outer = SHA256()
}

extension HMAC where Hash == SHA256 {
    package init(key: SymmetricKey) {
        key.withUnsafeBytes { key in
            withUnsafeTemporaryAllocation(byteCount: SHA256.blockByteCount, alignment: 16) { block in
                block.initializeMemory(as: UInt8.self, repeating: 0)
                // RFC 2104 section 2: a key that is longer than a block is hashed.
                if key.count > SHA256.blockByteCount {
                    SHA256.hash(data: key).withUnsafeBytes { block.copyMemory(from: $0) }
                } else {
                    block.copyMemory(from: key)
                }
                for index in block.indices { block[index] ^= 0x36 }
                self.inner.update(bufferPointer: UnsafeRawBufferPointer(block))
                for index in block.indices { block[index] ^= 0x36 ^ 0x5C }
                self.outer.update(bufferPointer: UnsafeRawBufferPointer(block))
                OPENSSL_cleanse(block.baseAddress, block.count)
            }
        }
    }

    package mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
        self.inner.update(bufferPointer: bytes)
    }

    package mutating func update(data: some DataProtocol) {
        self.inner.update(data: data)
    }

    /// The code of the bytes that were added so far; further bytes can be added afterwards.
    package func finalize() -> MAC {
        var outer = self.outer
        self.inner.finalize().withUnsafeBytes { outer.update(bufferPointer: $0) }
        return MAC(bytes: outer.finalize())
    }

    package static func authenticationCode(for data: some DataProtocol, using key: SymmetricKey) -> MAC {
        var code = HMAC(key: key)
        code.update(data: data)
        return code.finalize()
    }
}

/// The 32 bytes of a code, stored without an allocation. Every comparison of two codes takes the
/// same time.
package struct HashedAuthenticationCode: Sendable, Hashable, Sequence, ContiguousBytes {
    fileprivate let bytes: SHA256Digest

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try self.bytes.withUnsafeBytes(body)
    }

    package func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try self.bytes.withContiguousStorageIfAvailable(body)
    }

    package var underestimatedCount: Int { SHA256.byteCount }

    package func makeIterator() -> SHA256Digest.Iterator { self.bytes.makeIterator() }

    /// Compares in a time that depends only on the lengths.
    package static func == (code: HashedAuthenticationCode, bytes: some DataProtocol) -> Bool {
        code.withUnsafeBytes { code in bytes.withContiguousBytes { LibCrypto.isEqual(code, $0) } }
    }
}
