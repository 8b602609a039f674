internal import COpenSSL

/// A P-256 public key received from a client.
///
/// `@unchecked Sendable`: the key does not change after `init`, and OpenSSL then allows any thread
/// to use it.
final class P256PublicKey: @unchecked Sendable {
    /// The bytes before the point in a SubjectPublicKeyInfo, RFC 5480.
    private static let prefix: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    private let pointer: OpaquePointer

    /// `nil` unless the bytes are an uncompressed point on the curve.
    init?(point: [UInt8]) {
        guard point.count == 65, point[0] == 4 else { return nil }
        let der = Self.prefix + point
        let key = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_PUBKEY(nil, &start, der.count)
        }
        guard let key else {
            ERR_clear_error()
            return nil
        }
        self.pointer = key
    }

    deinit {
        EVP_PKEY_free(self.pointer)
    }

    /// Whether `signature`, the 64 bytes of RFC 7518 section 3.4, is this key's signature of
    /// `message`.
    func isES256(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        SignatureCheck.isES256(signature, of: message, by: self.pointer)
    }

    /// Runs `body` with OpenSSL's key. `body` must not keep the pointer.
    func withPointer<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.pointer)
    }
}
