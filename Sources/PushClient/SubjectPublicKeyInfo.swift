/// A public key in DER, in the form that certificates contain (RFC 5280 section 4.1). It is made
/// from the key's bytes as Apple's Security framework exports them.
struct SubjectPublicKeyInfo: Hashable {
    enum Algorithm {
        /// PKCS #1.
        case rsa
        /// An uncompressed point; its length identifies the curve.
        case ellipticCurve
    }

    let bytes: [UInt8]

    /// Returns `nil` for a curve other than P-256, P-384 and P-521.
    init?(_ algorithm: Algorithm, key: [UInt8]) {
        let identifier: [UInt8]
        switch (algorithm, key.count) {
        case (.rsa, _): identifier = Self.rsaEncryption + [0x05, 0x00]
        case (.ellipticCurve, 65): identifier = Self.ecPublicKey + Self.p256
        case (.ellipticCurve, 97): identifier = Self.ecPublicKey + Self.p384
        case (.ellipticCurve, 133): identifier = Self.ecPublicKey + Self.p521
        default: return nil
        }
        self.bytes = Self.element(0x30, Self.element(0x30, identifier) + Self.element(0x03, [0] + key))
    }

    private static let rsaEncryption: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
    private static let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    private static let p256: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    private static let p384: [UInt8] = [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]
    private static let p521: [UInt8] = [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23]

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length: [UInt8] = []
        if content.count < 0x80 {
            length = [UInt8(content.count)]
        } else {
            var rest = content.count
            while rest > 0 {
                length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
                rest >>= 8
            }
            length.insert(0x80 | UInt8(length.count), at: 0)
        }
        return [tag] + length + content
    }
}
