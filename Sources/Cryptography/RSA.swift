internal import COpenSSL
package import Foundation

/// RSA keys of at least 2,048 bits, RFC 8017. CryptoKit has none.
package enum RSA {
    /// Signatures of a message's hash: its SHA-256, unless the caller names another hash.
    package enum Signing {
        private static let minimumBitCount: Int32 = 2048

        /// The padding of the hash to a number of the key's size.
        package enum Padding: Sendable {
            /// RSASSA-PKCS1-v1_5: the `RS256` of JSON Web Signatures.
            case pkcs1v15
            /// RSASSA-PSS with a salt as long as the hash: the `PS256` of JSON Web Signatures.
            case pss

            fileprivate func scheme(_ hash: SignatureHash) -> AsymmetricKey.Scheme {
                self == .pss ? .pss(hash) : .hash(hash)
            }
        }

        package struct PrivateKey: Sendable {
            private let key: AsymmetricKey

            /// Generates a key of 2,048 bits.
            package init() throws {
                self.key = try AsymmetricKey(copenssl_make_rsa2048_key())
            }

            /// Reads PKCS#8, or an `RSA PRIVATE KEY`. Throws if the key is too short, or if its
            /// numbers do not belong together.
            package init(pemRepresentation: String) throws {
                let key = try AsymmetricKey.privateKey(pem: pemRepresentation)
                guard
                    EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA,
                    EVP_PKEY_get_bits(key.pointer) >= minimumBitCount
                else { throw CryptoKitError.invalidParameter }
                let context = LibCrypto.require("EVP_PKEY_CTX_new", EVP_PKEY_CTX_new(key.pointer, nil))
                defer { EVP_PKEY_CTX_free(context) }
                guard EVP_PKEY_pairwise_check(context) == 1 else {
                    ERR_clear_error()
                    throw CryptoKitError.invalidParameter
                }
                self.key = key
            }

            /// PKCS#8, to be kept secret.
            package var pemRepresentation: String { self.key.privatePEM }

            package var publicKey: PublicKey { PublicKey(self.key) }

            /// The signature is as long as the key. With `.pkcs1v15` it is the same each time.
            package func signature(
                for message: some DataProtocol,
                padding: Padding,
                hash: SignatureHash = .sha256
            ) throws -> Data {
                Data(try self.key.signature(of: message, padding.scheme(hash)))
            }
        }

        package struct PublicKey: Sendable {
            private let key: AsymmetricKey

            fileprivate init(_ key: AsymmetricKey) {
                self.key = key
            }

            /// Makes a key from the modulus and the exponent, both big-endian.
            ///
            /// Throws `invalidParameter` if the modulus is too short, if the modulus or the
            /// exponent is even, or if the exponent is 1.
            package init(n: [UInt8], e: [UInt8]) throws(CryptoKitError) {
                let isOdd = [n, e].allSatisfy { $0.last.map { $0 & 1 == 1 } ?? false }
                guard isOdd, e.drop(while: { $0 == 0 }) != [1] else { throw .invalidParameter }
                var pointer: OpaquePointer?
                let result = copenssl_set_rsa_public_key(&pointer, n, n.count, e, e.count)
                guard result == 1, let pointer else { throw LibCrypto.error() }
                let key = try AsymmetricKey(pointer)
                guard EVP_PKEY_get_bits(key.pointer) >= minimumBitCount else { throw .invalidParameter }
                self.key = key
            }

            /// The modulus, big-endian.
            package var n: [UInt8] { self.number(OSSL_PKEY_PARAM_RSA_N) }
            /// The exponent, big-endian.
            package var e: [UInt8] { self.number(OSSL_PKEY_PARAM_RSA_E) }

            package func isValidSignature(
                _ signature: some DataProtocol,
                for message: some DataProtocol,
                padding: Padding,
                hash: SignatureHash = .sha256
            ) -> Bool {
                self.key.isSignature(Array(signature), of: message, padding.scheme(hash))
            }

            private func number(_ name: String) -> [UInt8] {
                var number: OpaquePointer?
                defer { BN_free(number) }
                guard EVP_PKEY_get_bn_param(self.key.pointer, name, &number) == 1 else {
                    preconditionFailure("libcrypto does not tell the numbers of a public key")
                }
                var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(number) + 7) / 8)
                BN_bn2bin(number, &bytes)
                return bytes
            }
        }
    }
}
