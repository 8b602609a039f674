internal import COpenSSL

/// AES, FIPS 197, with keys of 128, 192 and 256 bits.
package enum AES {
    private static let blockByteCount = 16

    private static let block128 = SharedObject.cipher("AES-128-ECB")
    private static let block192 = SharedObject.cipher("AES-192-ECB")
    private static let block256 = SharedObject.cipher("AES-256-ECB")

    /// Encrypts a single block. Equal blocks have equal results, so do not encrypt texts of
    /// several blocks in this way. Throws for another size of block or key.
    package static func permute(_ block: inout [UInt8], key: SymmetricKey) throws(CryptoKitError) {
        try self.run(&block, key, isEncrypting: 1)
    }

    /// Undoes `permute`.
    package static func inversePermute(_ block: inout [UInt8], key: SymmetricKey) throws(CryptoKitError) {
        try self.run(&block, key, isEncrypting: 0)
    }

    private static func run(_ block: inout [UInt8], _ key: SymmetricKey, isEncrypting: Int32) throws(CryptoKitError) {
        guard block.count == self.blockByteCount else { throw .incorrectParameterSize }
        let cipher = try self.cipher(ofKeyCount: key.secret.count)
        let context = LibCrypto.require("EVP_CIPHER_CTX_new", EVP_CIPHER_CTX_new())
        defer { EVP_CIPHER_CTX_free(context) }
        let result = key.withUnsafeBytes { key in
            let bytes = key.assumingMemoryBound(to: UInt8.self).baseAddress
            return EVP_CipherInit_ex2(context, cipher.pointer, bytes, nil, isEncrypting, nil)
        }
        try LibCrypto.check(result)
        try LibCrypto.check(EVP_CIPHER_CTX_set_padding(context, 0))
        var output = [UInt8](repeating: 0, count: self.blockByteCount)
        var count: Int32 = 0
        try LibCrypto.check(EVP_CipherUpdate(context, &output, &count, block, Int32(self.blockByteCount)))
        guard count == self.blockByteCount else { throw .incorrectParameterSize }
        block = output
    }

    private static func cipher(ofKeyCount count: Int) throws(CryptoKitError) -> SharedObject {
        switch count {
        case 16: self.block128
        case 24: self.block192
        case 32: self.block256
        default: throw .incorrectKeySize
        }
    }
}
