internal import Cryptography
internal import Foundation

/// Encrypts one message for one browser (RFC 8291), with a new key pair and a new salt.
struct WebPushEncryption {
    let subscription: WebPushSubscription
    private let key: P256.KeyAgreement.PrivateKey
    private let salt: [UInt8]

    /// Only tests pass `key` and `salt`; neither may be used twice.
    init(
        for subscription: WebPushSubscription,
        key: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
        salt: [UInt8] = Self.randomSalt()
    ) {
        self.subscription = subscription
        self.key = key
        self.salt = salt
    }

    /// The body of the request, padded to `paddedSize`. Throws if the text does not fit, or if the
    /// key agreement fails.
    func seal(_ plaintext: [UInt8], paddedSize: Int = WebPushContent.leastSize) throws -> [UInt8] {
        try EncryptedContent.seal(
            plaintext,
            paddedSize: paddedSize,
            material: try self.material(),
            salt: self.salt,
            keyID: Array(self.key.publicKey.x963Representation)
        )
    }

    /// The input keying material (RFC 8291 section 3.4). It depends on the keys of both sides and
    /// on the browser's secret.
    func material() throws -> SymmetricKey {
        let shared = try self.key.sharedSecretFromKeyAgreement(with: self.subscription.publicKey)
        return shared.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: self.subscription.secret,
            sharedInfo: self.info,
            outputByteCount: 32
        )
    }

    /// The text `key_info` of RFC 8291: the browser's key comes before this server's key.
    var info: [UInt8] {
        Array("WebPush: info\0".utf8) + self.subscription.publicKey.x963Representation
            + self.key.publicKey.x963Representation
    }

    private static func randomSalt() -> [UInt8] {
        SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
    }
}
