internal import COpenSSL
package import Foundation

extension AES {
    /// AES in Galois/Counter Mode, NIST SP 800-38D, with nonces of 12 bytes and tags of 16.
    package enum GCM {
        static let nonceByteCount = 12
        static let tagByteCount = 16
        /// How many bytes longer an encrypted text is than its plaintext: the nonce and the tag.
        package static let overhead = nonceByteCount + tagByteCount

        /// Encrypts a text. The tag also authenticates `place`, which is not stored: `open` needs
        /// the same bytes again. The nonce must never be used twice with the same key; by default,
        /// it is new and random.
        ///
        /// Throws for a key whose size AES does not have, and for a text of 2 GiB or more.
        package static func seal(
            _ plaintext: some DataProtocol,
            using key: SymmetricKey,
            nonce: Nonce = Nonce(),
            authenticating place: some DataProtocol = [UInt8]()
        ) throws -> SealedBox {
            var combined = Data(count: plaintext.count + self.overhead)
            try combined.withUnsafeMutableBytes { combined in
                try plaintext.withContiguousBytes { plaintext in
                    try place.withContiguousBytes { place in
                        try self.seal(plaintext, using: key, nonce: nonce, authenticating: place, into: combined)
                    }
                }
            }
            return SealedBox(whole: combined)
        }

        /// Throws `authenticationFailure` unless the box was encrypted with this key and the same
        /// additional data `place`.
        package static func open(
            _ box: SealedBox,
            using key: SymmetricKey,
            authenticating place: some DataProtocol = [UInt8]()
        ) throws -> Data {
            var plaintext = Data(count: box.whole.count - self.overhead)
            try plaintext.withUnsafeMutableBytes { plaintext in
                try box.whole.withUnsafeBytes { combined in
                    try place.withContiguousBytes { place in
                        try self.open(combined, using: key, authenticating: place, into: plaintext)
                    }
                }
            }
            return plaintext
        }
    }
}

// MARK: - In memory of the caller's

extension AES.GCM {
    /// Writes nonce, ciphertext and tag in a row, which takes `overhead` bytes more than the
    /// plaintext.
    package static func seal(
        _ plaintext: UnsafeRawBufferPointer,
        using key: SymmetricKey,
        nonce: Nonce = Nonce(),
        authenticating place: UnsafeRawBufferPointer,
        into combined: UnsafeMutableRawBufferPointer
    ) throws(CryptoKitError) {
        precondition(combined.count == plaintext.count + self.overhead, "the memory is of another size")
        let (count, placeCount) = (try LibCrypto.count(plaintext.count), try LibCrypto.count(place.count))
        guard let start = combined.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        nonce.withUnsafeBytes { combined.copyMemory(from: $0) }
        let (text, tag) = (start + self.nonceByteCount, start + self.nonceByteCount + plaintext.count)
        try key.secret.forSealing().withContext(of: key.secret) { context throws(CryptoKitError) in
            var written: Int32 = 0
            try LibCrypto.check(EVP_EncryptInit_ex2(context, nil, nil, start, nil))
            if placeCount > 0 {
                try LibCrypto.check(EVP_EncryptUpdate(context, nil, &written, place.bytes, placeCount))
            }
            if count > 0 { try LibCrypto.check(EVP_EncryptUpdate(context, text, &written, plaintext.bytes, count)) }
            try LibCrypto.check(EVP_EncryptFinal_ex(context, tag, &written))
            let tagCount = Int32(self.tagByteCount)
            try LibCrypto.check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tagCount, tag))
        }
    }

    /// Decrypts nonce, ciphertext and tag, which follow each other. Throws `authenticationFailure`
    /// unless they were encrypted with this key and the same additional data `place`; after this
    /// error, `plaintext` is all zeros.
    package static func open(
        _ combined: UnsafeRawBufferPointer,
        using key: SymmetricKey,
        authenticating place: UnsafeRawBufferPointer,
        into plaintext: UnsafeMutableRawBufferPointer
    ) throws(CryptoKitError) {
        precondition(combined.count == plaintext.count + self.overhead, "the memory is of another size")
        let (count, placeCount) = (try LibCrypto.count(plaintext.count), try LibCrypto.count(place.count))
        guard let start = combined.bytes else { return }
        let (text, tag) = (start + self.nonceByteCount, start + self.nonceByteCount + plaintext.count)
        do throws(CryptoKitError) {
            try key.secret.forSealing().withContext(of: key.secret) { context throws(CryptoKitError) in
                let output = plaintext.baseAddress?.assumingMemoryBound(to: UInt8.self)
                var written: Int32 = 0
                try LibCrypto.check(EVP_DecryptInit_ex2(context, nil, nil, start, nil))
                let (command, tagCount) = (EVP_CTRL_AEAD_SET_TAG, Int32(self.tagByteCount))
                // The pointer's type is mutable, but libcrypto only copies the tag from it.
                let unchanged = UnsafeMutablePointer(mutating: tag)
                try LibCrypto.check(EVP_CIPHER_CTX_ctrl(context, command, tagCount, unchanged))
                if placeCount > 0 {
                    try LibCrypto.check(EVP_DecryptUpdate(context, nil, &written, place.bytes, placeCount))
                }
                if count > 0 { try LibCrypto.check(EVP_DecryptUpdate(context, output, &written, text, count)) }
                guard EVP_DecryptFinal_ex(context, output, &written) == 1 else {
                    ERR_clear_error()
                    throw .authenticationFailure
                }
            }
        } catch {
            // At this point the text is decrypted, but its tag does not match, so the text must
            // not be used.
            OPENSSL_cleanse(plaintext.baseAddress, plaintext.count)
            throw error
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var bytes: UnsafePointer<UInt8>? { self.baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
