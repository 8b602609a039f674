internal import COpenSSL
internal import Foundation

/// Keys on the curve P-256, FIPS 186-4.
package enum P256 {
    static let scalarByteCount = 32
    private static let group = SharedObject(
        pointer: LibCrypto.require(
            "EC_GROUP_new_by_curve_name",
            EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
        )
    )

    // MARK: - Private keys

    /// Throws unless the 32 bytes are a number from 1 to the curve's order less one.
    static func privateKey(_ scalar: UnsafeRawBufferPointer) throws(CryptoKitError) -> AsymmetricKey {
        guard scalar.count == self.scalarByteCount else { throw .incorrectKeySize }
        let group = self.group.pointer
        let number = LibCrypto.require("BN_secure_new", BN_secure_new())
        defer { BN_clear_free(number) }
        let bytes = scalar.assumingMemoryBound(to: UInt8.self).baseAddress
        _ = try LibCrypto.check(BN_bin2bn(bytes, Int32(scalar.count), number))
        BN_set_flags(number, BN_FLG_CONSTTIME)
        guard BN_is_zero(number) == 0, BN_cmp(number, EC_GROUP_get0_order(group)) < 0 else { throw .invalidParameter }

        let product = LibCrypto.require("EC_POINT_new", EC_POINT_new(group))
        defer { EC_POINT_free(product) }
        try LibCrypto.check(EC_POINT_mul(group, product, number, nil, nil, nil))
        var point = [UInt8](repeating: 0, count: ECDSA.Curve.p256.pointByteCount)
        let form = POINT_CONVERSION_UNCOMPRESSED
        guard EC_POINT_point2oct(group, product, form, &point, point.count, nil) == point.count else {
            throw LibCrypto.error()
        }

        var length: Int32 = 0
        let native = SecretBytes(count: self.scalarByteCount) { native in
            length = BN_bn2nativepad(
                number,
                native.assumingMemoryBound(to: UInt8.self).baseAddress,
                Int32(native.count)
            )
        }
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(context) }
        guard length == native.count, EVP_PKEY_fromdata_init(context) == 1 else { throw LibCrypto.error() }
        var key: OpaquePointer?
        let result = native.withUnsafeBytes { native in
            // libcrypto only reads the number, although the pointer's type is mutable.
            let bytes = UnsafeMutablePointer(mutating: native.assumingMemoryBound(to: UInt8.self).baseAddress)
            return copenssl_set_p256_key(context, &key, point, point.count, bytes, native.count)
        }
        try LibCrypto.check(result)
        return try AsymmetricKey(key)
    }

    /// Throws unless the text contains a key on this curve. Computes the key's public half again,
    /// and ignores the public half in the text.
    static func privateKey(pem: String) throws(CryptoKitError) -> AsymmetricKey {
        let key = try AsymmetricKey.privateKey(pem: pem)
        guard EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_EC, self.isCurve(of: key) else { throw .invalidParameter }
        return try self.scalar(of: key).withUnsafeBytes { scalar throws(CryptoKitError) in try self.privateKey(scalar) }
    }

    static func scalar(of key: AsymmetricKey) throws(CryptoKitError) -> SecretBytes {
        var number: OpaquePointer?
        defer { BN_clear_free(number) }
        try LibCrypto.check(EVP_PKEY_get_bn_param(key.pointer, OSSL_PKEY_PARAM_PRIV_KEY, &number))
        var count: Int32 = 0
        let secret = SecretBytes(count: self.scalarByteCount) { bytes in
            let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
            count = BN_bn2binpad(number, start, Int32(bytes.count))
        }
        guard count == self.scalarByteCount else { throw LibCrypto.error() }
        return secret
    }

    private static func isCurve(of key: AsymmetricKey) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        // The call fails for a curve without a name.
        defer { ERR_clear_error() }
        guard EVP_PKEY_get_group_name(key.pointer, &name, name.count, &count) == 1 else { return false }
        return name.prefix(count).elementsEqual(SN_X9_62_prime256v1.utf8CString.dropLast())
    }

    /// A private key, and the point that is its public half.
    struct KeyPair: Sendable {
        let key: AsymmetricKey
        let point: [UInt8]

        /// A new random pair.
        init() {
            do {
                try self.init(ECDSA.Curve.p256.generateKey())
            } catch {
                preconditionFailure("libcrypto makes no key on P-256, or does not tell its public half: \(error)")
            }
        }

        /// Throws unless the 32 bytes are a number from 1 to the curve's order less one.
        init(rawRepresentation: some ContiguousBytes) throws {
            try self.init(rawRepresentation.withUnsafeBytes { try P256.privateKey($0) })
        }

        init(_ key: AsymmetricKey) throws(CryptoKitError) {
            self.key = key
            self.point = try ECDSA.Curve.p256.point(of: key)
        }
    }
}
