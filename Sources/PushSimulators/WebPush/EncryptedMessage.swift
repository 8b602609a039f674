internal import COpenSSL

/// Decrypts a message as a browser does, RFC 8291 over RFC 8188. It uses OpenSSL, and so is
/// independent of the code that encrypts.
struct EncryptedMessage {
    private static let tagSize = 16

    let salt: [UInt8]
    /// The sender's public key for this message.
    let senderPoint: [UInt8]
    private let record: [UInt8]

    /// Reads a body. Returns `nil` unless it consists of a header whose key id is a point, and of
    /// one record that fits in the stated size.
    init?(_ body: [UInt8]) {
        guard body.count > 86 + Self.tagSize, body[20] == 65 else { return nil }
        let size = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        self.salt = Array(body[..<16])
        self.senderPoint = Array(body[21..<86])
        self.record = Array(body[86...])
        guard size >= 18, self.record.count <= size else { return nil }
    }

    /// The plaintext without its padding; `nil` if the message is not encrypted for this browser.
    func open(key: SigningKey, point: [UInt8], secret: [UInt8]) -> [UInt8]? {
        // If the key agreement fails, the message cannot be decrypted, whatever the cause is.
        guard
            let sender = P256PublicKey(point: self.senderPoint), let shared = try? key.sharedSecret(with: sender)
        else { return nil }
        let info = Array("WebPush: info\0".utf8) + point + self.senderPoint
        let material = HMACSHA256.code(key: HMACSHA256.code(key: secret, shared), info + [1])
        let prk = HMACSHA256.code(key: self.salt, material)
        let contentKey = HMACSHA256.code(key: prk, Array("Content-Encoding: aes128gcm\0\u{1}".utf8))
        let nonce = HMACSHA256.code(key: prk, Array("Content-Encoding: nonce\0\u{1}".utf8))
        guard let padded = self.decrypt(Array(contentKey[..<16]), Array(nonce[..<12])) else { return nil }
        // The last byte that is not padding must be 2, which marks the last record.
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2 else { return nil }
        return Array(padded[..<end])
    }

    private func decrypt(_ key: [UInt8], _ nonce: [UInt8]) -> [UInt8]? {
        // A wrong tag leaves an error in OpenSSL's error queue, so the queue is cleared at the
        // end.
        defer { ERR_clear_error() }
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let sealed = Array(self.record.dropLast(Self.tagSize))
        var tag = Array(self.record.suffix(Self.tagSize))
        var plain = [UInt8](repeating: 0, count: sealed.count)
        var count: Int32 = 0
        var rest: [UInt8] = [0]
        guard
            EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
            EVP_DecryptUpdate(context, &plain, &count, sealed, Int32(clamping: sealed.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagSize), &tag) == 1,
            EVP_DecryptFinal_ex(context, &rest, &count) == 1
        else { return nil }
        return plain
    }
}
