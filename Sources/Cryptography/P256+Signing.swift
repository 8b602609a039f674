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

            /// The signature differs each time.
            package func signature(for message: some DataProtocol) throws -> ECDSASignature {
                try ECDSASignature(der: self.pair.key.signature(of: message, .sha256))
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
                self.key = try self.point.withUnsafeBytes { try publicKey($0) }
            }

            /// Throws unless the bytes are both coordinates of a point on the curve.
            package init(rawRepresentation: some ContiguousBytes) throws {
                try self.init(x963Representation: [uncompressed] + rawRepresentation.withUnsafeBytes { Array($0) })
            }

            package var x963Representation: Data { Data(self.point) }
            package var rawRepresentation: Data { Data(self.point.dropFirst()) }
            package var pemRepresentation: String { self.key.publicPEM }

            package func isValidSignature(_ signature: ECDSASignature, for message: some DataProtocol) -> Bool {
                guard let der = signature.der else { return false }
                return self.key.isSignature(der, of: message, .sha256)
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
                let pair = der.withUnsafeBufferPointer { bytes in
                    var start = bytes.baseAddress
                    return d2i_ECDSA_SIG(nil, &start, bytes.count)
                }
                let signature = try LibCrypto.check(pair)
                defer { ECDSA_SIG_free(signature) }
                var raw = [UInt8](repeating: 0, count: 2 * scalarByteCount)
                let written = raw.withUnsafeMutableBufferPointer { raw in
                    let (half, count) = (raw.baseAddress.map { $0 + scalarByteCount }, Int32(scalarByteCount))
                    return BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw.baseAddress, count) == count
                        && BN_bn2binpad(ECDSA_SIG_get0_s(signature), half, count) == count
                }
                guard written else { throw LibCrypto.error() }
                self.rawRepresentation = Data(raw)
            }

            /// The signature in libcrypto's form; `nil` without memory.
            fileprivate var der: [UInt8]? {
                guard let pair = ECDSA_SIG_new() else { return nil }
                defer { ECDSA_SIG_free(pair) }
                let (r, s) = Array(self.rawRepresentation).withUnsafeBufferPointer { bytes in
                    let half = bytes.baseAddress.map { $0 + scalarByteCount }
                    return (BN_bin2bn(bytes.baseAddress, 32, nil), BN_bin2bn(half, 32, nil))
                }
                // The call takes over both numbers, unless one is missing.
                guard ECDSA_SIG_set0(pair, r, s) == 1 else {
                    BN_free(r)
                    BN_free(s)
                    return nil
                }
                let count = i2d_ECDSA_SIG(pair, nil)
                guard count > 0 else { return nil }
                var der = [UInt8](repeating: 0, count: Int(count))
                let written = der.withUnsafeMutableBufferPointer { buffer in
                    var end = buffer.baseAddress
                    return i2d_ECDSA_SIG(pair, &end)
                }
                return written == count ? der : nil
            }
        }
    }
}
