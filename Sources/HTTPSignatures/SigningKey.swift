public import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// An Ed25519 key that signs.
public struct SigningKey: Sendable {
    static let algorithm = "ed25519"

    private let key: Curve25519.Signing.PrivateKey
    /// The public key that verifies the signatures of this key.
    public let publicKey: VerificationKey

    /// Creates a random key.
    public init() {
        self.init(Curve25519.Signing.PrivateKey())
    }

    /// Creates a key from its seed (RFC 8032). Throws unless the seed has 32 bytes.
    public init(rawRepresentation: some ContiguousBytes) throws {
        self.init(try Curve25519.Signing.PrivateKey(rawRepresentation: rawRepresentation))
    }

    private init(_ key: Curve25519.Signing.PrivateKey) {
        self.key = key
        self.publicKey = VerificationKey(key.publicKey)
    }

    /// The thumbprint of the key's public half.
    public var id: String { self.publicKey.id }

    /// The secret seed, 32 bytes.
    public var rawRepresentation: Data { self.key.rawRepresentation }

    /// Returns the signature, 64 bytes. On Apple platforms it differs each time.
    ///
    /// Throws only if the cryptographic library fails, for example without memory or random
    /// numbers: every key can sign every base.
    public func signature(over base: SignatureBase) throws -> Data {
        try self.key.signature(for: Data(base.text.utf8))
    }
}
