internal import COpenSSL
internal import Foundation

/// A key pair or a public key of libcrypto, of any kind.
///
/// `@unchecked Sendable`: the key is not changed after `init`, and libcrypto allows any thread to
/// use an unchanged key. libcrypto wipes the private part when it frees the key.
final class AsymmetricKey: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes ownership of the key; throws libcrypto's error for a null pointer.
    init(_ pointer: OpaquePointer?) throws(CryptoKitError) {
        self.pointer = try LibCrypto.check(pointer)
    }

    deinit {
        EVP_PKEY_free(self.pointer)
    }

    /// The form of a message that a key signs.
    enum Scheme {
        /// The message itself is signed; Ed25519 hashes it.
        case message
        /// The message's hash is signed; with RSA, the hash is padded by PKCS #1 v1.5.
        case hash(SignatureHash)
        /// The message's hash is signed, padded by RSASSA-PSS with a salt as long as the hash (RFC
        /// 7518 section 3.5).
        case pss(SignatureHash)

        /// libcrypto's hash; `nil` if the message itself is signed.
        fileprivate var digest: OpaquePointer? {
            switch self {
            case .message: nil
            case .hash(.sha256), .pss(.sha256): EVP_sha256()
            case .hash(.sha384), .pss(.sha384): EVP_sha384()
            case .hash(.sha512), .pss(.sha512): EVP_sha512()
            }
        }
    }

    /// Signs a message. The signature has the form that libcrypto uses for this kind of key.
    func signature(of message: some DataProtocol, _ scheme: Scheme) throws -> [UInt8] {
        let context = LibCrypto.require("EVP_MD_CTX_new", EVP_MD_CTX_new())
        defer { EVP_MD_CTX_free(context) }
        guard self.prepare(context, scheme, EVP_DigestSignInit) else { throw LibCrypto.error() }
        return try message.withContiguousBytes { message in
            var signature = [UInt8](repeating: 0, count: Int(max(0, EVP_PKEY_get_size(self.pointer))))
            var count = signature.count
            let bytes = message.assumingMemoryBound(to: UInt8.self).baseAddress
            try LibCrypto.check(EVP_DigestSign(context, &signature, &count, bytes, message.count))
            return Array(signature.prefix(count))
        }
    }

    /// Whether this key, or the private half of this public key, has made the signature.
    func isSignature(_ signature: [UInt8], of message: some DataProtocol, _ scheme: Scheme) -> Bool {
        // A wrong signature may leave an error in libcrypto's error queue.
        defer { ERR_clear_error() }
        let context = LibCrypto.require("EVP_MD_CTX_new", EVP_MD_CTX_new())
        defer { EVP_MD_CTX_free(context) }
        guard self.prepare(context, scheme, EVP_DigestVerifyInit) else { return false }
        return message.withContiguousBytes { message in
            let bytes = message.assumingMemoryBound(to: UInt8.self).baseAddress
            return EVP_DigestVerify(context, signature, signature.count, bytes, message.count) == 1
        }
    }

    private typealias Start = (
        OpaquePointer, UnsafeMutablePointer<OpaquePointer?>, OpaquePointer?, OpaquePointer?, OpaquePointer
    ) -> Int32

    /// Prepares the context for this key and for `scheme`; `start` is libcrypto's function for
    /// signing or for checking.
    private func prepare(_ context: OpaquePointer, _ scheme: Scheme, _ start: Start) -> Bool {
        // The context owns `details`, so nothing here frees it.
        var details: OpaquePointer?
        guard start(context, &details, scheme.digest, nil, self.pointer) == 1 else { return false }
        guard case .pss = scheme else { return true }
        return EVP_PKEY_CTX_set_rsa_padding(details, RSA_PKCS1_PSS_PADDING) == 1
            && EVP_PKEY_CTX_set_rsa_pss_saltlen(details, RSA_PSS_SALTLEN_DIGEST) == 1
    }

    // MARK: - PEM

    /// Reads the first private key of the text, in PKCS#8 or the older form of its kind; ignores
    /// the text around it. Throws `invalidParameter` if the text has no key, or if a password
    /// protects the key.
    static func privateKey(pem text: String) throws(CryptoKitError) -> AsymmetricKey {
        var text = text
        let pointer = text.withUTF8 { text in
            Int32(exactly: text.count).flatMap { BIO_new_mem_buf(text.baseAddress, $0) }.flatMap { source in
                defer { BIO_free(source) }
                // Without a callback libcrypto would ask the terminal for the password.
                return PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil)
            }
        }
        // libcrypto tries several forms of keys. Even if it finds a valid key, it leaves errors
        // for the other forms in its error queue.
        ERR_clear_error()
        guard let pointer else { throw .invalidParameter }
        return try AsymmetricKey(pointer)
    }

    /// The private half, PKCS#8, without a line end.
    var privatePEM: String {
        self.pem { PEM_write_bio_PrivateKey($0, self.pointer, nil, nil, 0, nil, nil) }
    }

    /// The public half, a `SubjectPublicKeyInfo`, without a line end.
    var publicPEM: String {
        self.pem { PEM_write_bio_PUBKEY($0, self.pointer) }
    }

    private func pem(_ write: (OpaquePointer) -> Int32) -> String {
        let sink = LibCrypto.require("BIO_new", BIO_new(BIO_s_mem()))
        // Freeing the sink wipes its content.
        defer { BIO_free(sink) }
        precondition(write(sink) == 1, "libcrypto cannot write a key that it has")
        var start: UnsafeMutableRawPointer?
        let count = BIO_ctrl(sink, BIO_CTRL_INFO, 0, &start)
        let text = UnsafeRawBufferPointer(start: start, count: count)
        return String(decoding: text.last == UInt8(ascii: "\n") ? text.dropLast() : text[...], as: UTF8.self)
    }
}

/// The hash of a message in a signature, FIPS 180-4.
package enum SignatureHash: Sendable, CaseIterable {
    case sha256, sha384, sha512
}
