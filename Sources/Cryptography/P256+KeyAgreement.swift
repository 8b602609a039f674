internal import COpenSSL
package import Foundation

extension P256 {
    /// ECDH, NIST SP 800-56A.
    package enum KeyAgreement {
        package struct PrivateKey: Sendable {
            private let pair: KeyPair
            package let publicKey: PublicKey

            /// A new random key.
            package init() { self.init(KeyPair()) }

            /// Throws unless the 32 bytes are a number from 1 to the curve's order less one.
            package init(rawRepresentation: some ContiguousBytes) throws {
                self.init(try KeyPair(rawRepresentation: rawRepresentation))
            }

            private init(_ pair: KeyPair) {
                self.pair = pair
                self.publicKey = PublicKey(pair.key, point: pair.point)
            }

            /// The secret that only the holders of the two private keys know.
            package func sharedSecretFromKeyAgreement(with other: PublicKey) throws -> SharedSecret {
                let context = LibCrypto.require("EVP_PKEY_CTX_new", EVP_PKEY_CTX_new(self.pair.key.pointer, nil))
                defer { EVP_PKEY_CTX_free(context) }
                try LibCrypto.check(EVP_PKEY_derive_init(context))
                // Reading the point has checked that it is on the curve. For P-256, no further
                // check of the point is needed; it would cost as much as the key agreement itself.
                try LibCrypto.check(EVP_PKEY_derive_set_peer_ex(context, other.key.pointer, 0))
                return SharedSecret(
                    secret: try SecretBytes(count: scalarByteCount) { secret in
                        var count = secret.count
                        let start = secret.assumingMemoryBound(to: UInt8.self).baseAddress
                        try LibCrypto.check(EVP_PKEY_derive(context, start, &count))
                        guard count == scalarByteCount else { throw CryptoKitError.incorrectParameterSize }
                    }
                )
            }
        }

        package struct PublicKey: Sendable {
            fileprivate let key: AsymmetricKey
            private let point: [UInt8]

            fileprivate init(_ key: AsymmetricKey, point: [UInt8]) {
                self.key = key
                self.point = point
            }

            /// Throws unless the bytes are 0x04 and both coordinates of a point on the curve.
            package init(x963Representation: some ContiguousBytes) throws {
                self.point = x963Representation.withUnsafeBytes { Array($0) }
                self.key = try self.point.withUnsafeBytes { try ECDSA.Curve.p256.publicKey($0) }
            }

            package var x963Representation: Data { Data(self.point) }
        }
    }
}

/// The secret on which two keys have agreed. It must not be used as a key directly, because not
/// all of its values are equally likely.
package struct SharedSecret: Sendable, ContiguousBytes {
    fileprivate let secret: SecretBytes

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try self.secret.withUnsafeBytes(body)
    }

    package func hkdfDerivedSymmetricKey(
        using hash: SHA256.Type,
        salt: some DataProtocol,
        sharedInfo info: some DataProtocol,
        outputByteCount count: Int
    ) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(self.secret),
            salt: salt,
            info: info,
            outputByteCount: count
        )
    }
}
