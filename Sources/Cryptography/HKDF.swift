internal import COpenSSL
package import Foundation

/// HKDF, RFC 5869; with SHA-256 only.
package enum HKDF<Hash> {}

extension HKDF where Hash == SHA256 {
    /// Derives a key of at most 8,160 bytes, which is 255 times the size of the hash.
    package static func deriveKey(
        inputKeyMaterial material: SymmetricKey,
        salt: some DataProtocol,
        info: some DataProtocol,
        outputByteCount count: Int
    ) -> SymmetricKey {
        precondition((0...255 * SHA256.byteCount).contains(count), "HKDF derives no \(count) bytes")
        // Without a salt, HMAC's key is all zeros: HMAC pads an empty key with zeros.
        let extracted = material.withUnsafeBytes { material in
            HMAC<SHA256>.authenticationCode(for: material, using: SymmetricKey(data: Array(salt)))
        }
        let key = SymmetricKey(data: extracted)
        let output = SecretBytes(count: count) { output in
            var rest = output[...]
            var block = SecretBytes(count: 0) { _ in }
            var number: UInt8 = 1
            while !rest.isEmpty {
                var code = HMAC<SHA256>(key: key)
                block.withUnsafeBytes { code.update(data: $0) }
                code.update(data: info)
                code.update(data: [number])
                block = code.finalize().withUnsafeBytes(SecretBytes.init(copying:))
                let part = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(block.count))
                block.withUnsafeBytes { part.copyBytes(from: $0.prefix(part.count)) }
                rest = rest.dropFirst(part.count)
                // The number of the block overflows only after the last block.
                number &+= 1
            }
        }
        return SymmetricKey(output)
    }

    package static func deriveKey(
        inputKeyMaterial material: SymmetricKey,
        info: some DataProtocol,
        outputByteCount count: Int
    ) -> SymmetricKey {
        self.deriveKey(inputKeyMaterial: material, salt: [UInt8](), info: info, outputByteCount: count)
    }
}
