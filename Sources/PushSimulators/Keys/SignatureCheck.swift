internal import COpenSSL

/// Verifies signatures.
enum SignatureCheck {
    /// Whether `signature`, the 64 bytes of RFC 7518 section 3.4, is the signature of `message` by
    /// that P-256 key.
    static func isES256(_ signature: [UInt8], of message: [UInt8], by key: OpaquePointer) -> Bool {
        guard signature.count == 64, let pair = ECDSA_SIG_new() else { return false }
        defer { ECDSA_SIG_free(pair) }
        let (r, s) = signature.withUnsafeBufferPointer { bytes in
            (BN_bin2bn(bytes.baseAddress, 32, nil), BN_bin2bn(bytes.baseAddress.map { $0 + 32 }, 32, nil))
        }
        guard ECDSA_SIG_set0(pair, r, s) == 1 else { return false }
        var der = [UInt8](repeating: 0, count: 80)
        let length = der.withUnsafeMutableBufferPointer { buffer in
            var end = buffer.baseAddress
            return i2d_ECDSA_SIG(pair, &end)
        }
        guard length > 0 else { return false }
        return self.isSignature(Array(der[..<Int(length)]), of: message, by: key)
    }

    /// Whether `signature`, in OpenSSL's own form, with SHA-256, is the signature of `message` by
    /// that key.
    static func isSignature(_ signature: [UInt8], of message: [UInt8], by key: OpaquePointer) -> Bool {
        // A wrong signature leaves an error in OpenSSL's error queue, so the queue is cleared at
        // the end.
        defer { ERR_clear_error() }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
