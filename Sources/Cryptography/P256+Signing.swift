internal import COpenSSL
package import Foundation

extension P256 {
    /// ECDSA with SHA-256, FIPS 186-4.
    package enum Signing {
        package struct PrivateKey: Sendable {
            private let pair: KeyPair
            package let publicKey: PublicKey

            /// A new random key.
            package init() { self.init(KeyPair()) }

            /// Throws unless the 32 bytes are a number from 1 to the curve's order less one.
            package init(rawRepresentation: some ContiguousBytes) throws {
                self.init(try KeyPair(rawRepresentation: rawRepresentation))
            }

            /// Reads PKCS#8, or an `EC PRIVATE KEY`.
            package init(pemRepresentation: String) throws {
                self.init(try KeyPair(privateKey(pem: pemRepresentation)))
            }

            private init(_ pair: KeyPair) {
                self.pair = pair
                self.publicKey = PublicKey(pair.key, point: pair.point)
            }

            /// 32 bytes, to be kept secret.
            package var rawRepresentation: Data {
                do {
                    return try scalar(of: self.pair.key).withUnsafeBytes { Data($0) }
                } catch {
                    preconditionFailure("libcrypto does not tell the number of a private key: \(error)")
                }
            }

            /// PKCS#8, to be kept secret.
            package var pemRepresentation: String { self.pair.key.privatePEM }

            /// A signature of the message. Each call makes a different one.
            package func signature(for message: some DataProtocol) throws -> ECDSASignature {
                try ECDSASignature(der: self.pair.key.signature(of: message, .hash(.sha256)))
            }
        }

        package struct PublicKey: Sendable {
            private let key: AsymmetricKey
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

            /// Throws unless the bytes are both coordinates of a point on the curve.
            package init(rawRepresentation: some ContiguousBytes) throws {
                let point = rawRepresentation.withUnsafeBytes { Array($0) }
                try self.init(x963Representation: [ECDSA.Curve.uncompressed] + point)
            }

            package var x963Representation: Data { Data(self.point) }
            package var rawRepresentation: Data { Data(self.point.dropFirst()) }
            package var pemRepresentation: String { self.key.publicPEM }

            package func isValidSignature(_ signature: ECDSASignature, for message: some DataProtocol) -> Bool {
                guard let der = signature.der else { return false }
                return self.key.isSignature(der, of: message, .hash(.sha256))
            }
        }

        /// Two numbers of 32 bytes, as in JSON Web Signatures (RFC 7518 section 3.4).
        package struct ECDSASignature: Sendable {
            package let rawRepresentation: Data

            /// Throws unless `rawRepresentation` has 64 bytes.
            package init(rawRepresentation: some DataProtocol) throws {
                guard rawRepresentation.count == 2 * scalarByteCount else {
                    throw CryptoKitError.incorrectParameterSize
                }
                self.rawRepresentation = Data(rawRepresentation)
            }

            fileprivate init(der: [UInt8]) throws(CryptoKitError) {
                self.rawRepresentation = Data(try ECDSA.Curve.p256.raw(ofDER: der))
            }

            /// The signature in libcrypto's form; `nil` if memory runs out.
            fileprivate var der: [UInt8]? { ECDSA.Curve.p256.der(ofRaw: Array(self.rawRepresentation)) }
        }
    }
}
