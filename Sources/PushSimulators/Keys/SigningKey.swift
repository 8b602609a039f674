internal import COpenSSL
package import SocketTLS

/// A new private key, which also verifies signatures.
///
/// OpenSSL verifies the signatures, so the check is independent of the code that has signed.
///
/// `@unchecked Sendable`: the key does not change after `init`, and OpenSSL then allows any thread
/// to use it.
package final class SigningKey: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// The private key as PKCS#8 in PEM.
    package let pem: String

    private init(_ pointer: OpaquePointer?) throws(OpenSSLError) {
        self.pointer = try OpenSSLError.check("EVP_PKEY_Q_keygen", pointer)
        self.pem = try PEM.write(privateKey: self.pointer)
    }

    deinit {
        EVP_PKEY_free(self.pointer)
    }

    /// A new elliptic curve key, for ES256.
    package static func p256() throws(OpenSSLError) -> SigningKey {
        try SigningKey(copenssl_make_p256_key())
    }

    /// A new RSA key of 2048 bits, for RS256.
    package static func rsa2048() throws(OpenSSLError) -> SigningKey {
        try SigningKey(copenssl_make_rsa2048_key())
    }

    /// Whether `signature`, the 64 bytes of RFC 7518 section 3.4, is this P-256 key's signature of
    /// `message`.
    package func isES256(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        SignatureCheck.isES256(signature, of: message, by: self.pointer)
    }

    /// Whether `signature`, PKCS#1 version 1.5 with SHA-256, is this RSA key's signature of
    /// `message`.
    package func isRS256(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        SignatureCheck.isSignature(signature, of: message, by: self.pointer)
    }

    /// Runs `body` with OpenSSL's key. `body` must not keep the pointer.
    func withPointer<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.pointer)
    }
}
