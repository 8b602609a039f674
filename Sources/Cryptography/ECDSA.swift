internal import COpenSSL
package import Foundation

/// ECDSA on NIST's curves, FIPS 186-4. Each curve has the hash that JSON Web Signatures use with
/// it (RFC 7518 section 3.4).
///
/// `P256` has CryptoKit's interface, for one curve; this type has one interface for all
/// three curves with which tokens are signed.
package enum ECDSA {
    package enum Curve: Sendable, CaseIterable {
        /// P-256 with SHA-256.
        case p256
        /// P-384 with SHA-384.
        case p384
        /// P-521 with SHA-512.
        case p521

        /// The length of a coordinate, and of each half of a signature, in bytes.
        package var scalarByteCount: Int {
            switch self {
            case .p256: 32
            case .p384: 48
            case .p521: 66
            }
        }
    }

    /// A private key. Only tests sign with such keys; the server only verifies signatures.
    package struct PrivateKey: Sendable {
        package let publicKey: PublicKey
        private let key: AsymmetricKey

        /// Generates a key.
        package init(on curve: Curve) throws {
            self.key = try curve.generateKey()
            self.publicKey = try PublicKey(rawRepresentation: curve.point(of: self.key).dropFirst(), on: curve)
        }

        /// A signature: the numbers r and s. Each call makes a different one.
        package func signature(for message: some DataProtocol) throws -> Data {
            let curve = self.publicKey.curve
            return Data(try curve.raw(ofDER: self.key.signature(of: message, .hash(curve.hash))))
        }
    }

    package struct PublicKey: Sendable {
        package let curve: Curve
        /// Both coordinates of the public point, one after the other.
        package let rawRepresentation: Data
        private let key: AsymmetricKey

        /// Throws unless the bytes are both coordinates of a point on the curve.
        package init(rawRepresentation: some DataProtocol, on curve: Curve) throws {
            let point = [Curve.uncompressed] + rawRepresentation
            self.key = try point.withUnsafeBytes { try curve.publicKey($0) }
            self.rawRepresentation = Data(point.dropFirst())
            self.curve = curve
        }

        /// Whether the private half of this key has made the signature, which must consist of two
        /// numbers of the curve's length.
        package func isValidSignature(_ signature: some DataProtocol, for message: some DataProtocol) -> Bool {
            guard let der = self.curve.der(ofRaw: Array(signature)) else { return false }
            return self.key.isSignature(der, of: message, .hash(self.curve.hash))
        }
    }
}

// MARK: - Keys and points

extension ECDSA.Curve {
    /// The first byte of a point with both coordinates, ANSI X9.63.
    static let uncompressed: UInt8 = 4

    private static let p256Parameters = Self.makeParameters("P-256")
    private static let p384Parameters = Self.makeParameters("P-384")
    private static let p521Parameters = Self.makeParameters("P-521")

    /// The curve's parameters. Copying them into a key takes a third of the time that libcrypto
    /// needs to find the curve by its name.
    var parameters: SharedObject {
        switch self {
        case .p256: Self.p256Parameters
        case .p384: Self.p384Parameters
        case .p521: Self.p521Parameters
        }
    }

    var hash: SignatureHash {
        switch self {
        case .p256: .sha256
        case .p384: .sha384
        case .p521: .sha512
        }
    }

    /// Generates a key. Throws if libcrypto has no random bytes or no memory.
    func generateKey() throws(CryptoKitError) -> AsymmetricKey {
        let context = EVP_PKEY_CTX_new(self.parameters.pointer, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        try LibCrypto.check(EVP_PKEY_keygen_init(context))
        try LibCrypto.check(EVP_PKEY_keygen(context, &key))
        return try AsymmetricKey(key)
    }

    /// The length of a point: the byte `uncompressed`, and both coordinates.
    var pointByteCount: Int { 1 + 2 * self.scalarByteCount }

    /// Throws unless `point` is both coordinates of a point on the curve, after the byte
    /// `uncompressed`. The curves' cofactor is 1, so no such point is of a small order.
    func publicKey(_ point: UnsafeRawBufferPointer) throws(CryptoKitError) -> AsymmetricKey {
        guard point.count == self.pointByteCount, point.first == Self.uncompressed else {
            throw .incorrectParameterSize
        }
        let key = try AsymmetricKey(EVP_PKEY_new())
        try LibCrypto.check(EVP_PKEY_copy_parameters(key.pointer, self.parameters.pointer))
        let bytes = point.assumingMemoryBound(to: UInt8.self).baseAddress
        guard EVP_PKEY_set1_encoded_public_key(key.pointer, bytes, point.count) == 1 else {
            ERR_clear_error()
            throw .invalidParameter
        }
        return key
    }

    func point(of key: AsymmetricKey) throws(CryptoKitError) -> [UInt8] {
        var point = [UInt8](repeating: 0, count: self.pointByteCount)
        var count = 0
        let name = OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY
        try LibCrypto.check(EVP_PKEY_get_octet_string_param(key.pointer, name, &point, point.count, &count))
        guard count == point.count, point[0] == Self.uncompressed else { throw .invalidParameter }
        return point
    }

    private static func makeParameters(_ name: StaticString) -> SharedObject {
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var parameters: OpaquePointer?
        let isMade =
            EVP_PKEY_paramgen_init(context) == 1
            && EVP_PKEY_CTX_set_group_name(context, "\(name)") == 1
            && EVP_PKEY_paramgen(context, &parameters) == 1
        return SharedObject(pointer: LibCrypto.require("EVP_PKEY_paramgen", isMade ? parameters : nil))
    }
}

// MARK: - Signatures

extension ECDSA.Curve {
    /// Turns a signature in libcrypto's form, DER, into the numbers r and s.
    func raw(ofDER der: [UInt8]) throws(CryptoKitError) -> [UInt8] {
        let pair = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &start, bytes.count)
        }
        let signature = try LibCrypto.check(pair)
        defer { ECDSA_SIG_free(signature) }
        let length = self.scalarByteCount
        var raw = [UInt8](repeating: 0, count: 2 * length)
        let written = raw.withUnsafeMutableBufferPointer { raw in
            let (half, count) = (raw.baseAddress.map { $0 + length }, Int32(length))
            return BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw.baseAddress, count) == count
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), half, count) == count
        }
        guard written else { throw LibCrypto.error() }
        return raw
    }

    /// The signature in libcrypto's form; `nil` if `raw` is not two numbers of the curve's
    /// length, or if memory runs out.
    func der(ofRaw raw: [UInt8]) -> [UInt8]? {
        let length = self.scalarByteCount
        guard raw.count == 2 * length, let pair = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let (r, s) = raw.withUnsafeBufferPointer { bytes in
            let half = bytes.baseAddress.map { $0 + length }
            return (BN_bin2bn(bytes.baseAddress, Int32(length), nil), BN_bin2bn(half, Int32(length), nil))
        }
        // The call makes `pair` the owner of both numbers, unless one of them is missing.
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
