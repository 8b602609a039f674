internal import COpenSSL
package import Foundation

/// Keys on Curve25519.
package enum Curve25519 {
    /// Ed25519, RFC 8032.
    package enum Signing {
        private static let byteCount = 32

        package struct PrivateKey: Sendable {
            private let key: AsymmetricKey
            private let seed: SymmetricKey
            package let publicKey: PublicKey

            /// A new random key.
            package init() {
                do {
                    try self.init(rawRepresentation: SymmetricKey(size: .bits256))
                } catch {
                    preconditionFailure("each 32 bytes are a key: \(error)")
                }
            }

            /// Throws unless there are 32 bytes.
            package init(rawRepresentation: some ContiguousBytes) throws {
                let seed = SymmetricKey(data: rawRepresentation)
                guard seed.bitCount == byteCount * 8 else { throw CryptoKitError.incorrectKeySize }
                let key = try AsymmetricKey(
                    seed.withUnsafeBytes {
                        let bytes = $0.assumingMemoryBound(to: UInt8.self).baseAddress
                        return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, bytes, $0.count)
                    }
                )
                var point = [UInt8](repeating: 0, count: byteCount)
                var count = point.count
                try LibCrypto.check(EVP_PKEY_get_raw_public_key(key.pointer, &point, &count))
                (self.key, self.seed) = (key, seed)
                self.publicKey = try PublicKey(rawRepresentation: point)
            }

            /// 32 bytes, to be kept secret.
            package var rawRepresentation: Data { self.seed.withUnsafeBytes { Data($0) } }

            /// The signature, 64 bytes; always the same for the same message.
            package func signature(for message: some DataProtocol) throws -> Data {
                Data(try self.key.signature(of: message, .message))
            }
        }

        package struct PublicKey: Sendable {
            private let key: AsymmetricKey
            package let rawRepresentation: Data

            /// Throws unless there are 32 bytes. Bytes that are no point on the curve are
            /// noticed only when a signature is checked.
            package init(rawRepresentation: some ContiguousBytes) throws {
                let bytes = rawRepresentation.withUnsafeBytes { Data($0) }
                guard bytes.count == byteCount else { throw CryptoKitError.incorrectKeySize }
                self.key = try AsymmetricKey(
                    bytes.withUnsafeBytes {
                        let start = $0.assumingMemoryBound(to: UInt8.self).baseAddress
                        return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, start, $0.count)
                    }
                )
                self.rawRepresentation = bytes
            }

            package func isValidSignature(_ signature: some DataProtocol, for message: some DataProtocol) -> Bool {
                self.key.isSignature(Array(signature), of: message, .message)
            }
        }
    }
}
