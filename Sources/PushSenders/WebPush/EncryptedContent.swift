internal import Cryptography
internal import Foundation

/// Encrypts in the content coding `aes128gcm` (RFC 8188), with one record.
enum EncryptedContent {
    /// The key and the nonce that RFC 8188 sections 2.2 and 2.3 derive for the first record.
    struct Keys {
        let key: SymmetricKey
        let nonce: [UInt8]

        init(material: SymmetricKey, salt: [UInt8]) {
            self.key = Self.derive(material, salt, "Content-Encoding: aes128gcm\0", 16)
            self.nonce = Self.derive(material, salt, "Content-Encoding: nonce\0", 12).withUnsafeBytes { Array($0) }
        }

        private static func derive(_ material: SymmetricKey, _ salt: [UInt8], _ info: String, _ count: Int)
            -> SymmetricKey
        {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: material,
                salt: salt,
                info: Array(info.utf8),
                outputByteCount: count
            )
        }
    }

    /// The record size in the header; a message has only one record, which is the last one and so
    /// may be shorter.
    private static let recordSize: UInt32 = 4096
    /// The byte after the plaintext of the last record; padding zeros may follow.
    private static let delimiter: UInt8 = 2

    /// Encrypts `plaintext`, padded to `paddedSize` bytes.
    ///
    /// Throws if the salt does not have 16 bytes, if the plaintext is longer than `paddedSize`, or
    /// if the result does not fit in one record.
    static func seal(
        _ plaintext: [UInt8],
        paddedSize: Int,
        material: SymmetricKey,
        salt: [UInt8],
        keyID: [UInt8]
    ) throws -> [UInt8] {
        guard
            salt.count == 16, plaintext.count <= paddedSize, paddedSize + 17 <= Int(self.recordSize),
            let keyIDSize = UInt8(exactly: keyID.count)
        else { throw CryptoKitError.incorrectParameterSize }
        let keys = Keys(material: material, salt: salt)
        let padding = [UInt8](repeating: 0, count: paddedSize - plaintext.count)
        let nonce = try AES.GCM.Nonce(data: keys.nonce)
        let sealed = try AES.GCM.seal(plaintext + [self.delimiter] + padding, using: keys.key, nonce: nonce)
        let size = withUnsafeBytes(of: self.recordSize.bigEndian) { Array($0) }
        return salt + size + [keyIDSize] + keyID + sealed.ciphertext + sealed.tag
    }
}
