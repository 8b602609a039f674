internal import COpenSSL
package import Foundation

/// Keys of RSA, of at least 2048 bits. CryptoKit has none.
package enum RSA {
    /// RSASSA-PKCS1-v1_5 with SHA-256, RFC 8017: the `RS256` of JSON Web Signatures.
    package enum Signing {
        package struct PrivateKey: Sendable {
            private static let leastBitCount: Int32 = 2048

            private let key: AsymmetricKey

            /// Reads PKCS#8, or an `RSA PRIVATE KEY`. Throws if it is too short, or its numbers do not belong together.
            package init(pemRepresentation: String) throws {
                let key = try AsymmetricKey.privateKey(pem: pemRepresentation)
                guard
                    EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA,
                    EVP_PKEY_get_bits(key.pointer) >= Self.leastBitCount
                else { throw CryptoKitError.invalidParameter }
                let context = LibCrypto.require("EVP_PKEY_CTX_new", EVP_PKEY_CTX_new(key.pointer, nil))
                defer { EVP_PKEY_CTX_free(context) }
                guard EVP_PKEY_pairwise_check(context) == 1 else {
                    ERR_clear_error()
                    throw CryptoKitError.invalidParameter
                }
                self.key = key
            }

            /// As long as the key, and the same each time.
            package func signature(for message: some DataProtocol) throws -> Data {
                // The padding is libcrypto's default.
                Data(try self.key.signature(of: message))
            }
        }
    }
}
