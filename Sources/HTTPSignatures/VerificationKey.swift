internal import Bytes
public import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// The public half of an Ed25519 key, which apps pin.
public struct VerificationKey: Sendable, Hashable {
    /// The thumbprint (RFC 7638) of the key as a JSON Web Key: the `keyid` of its signatures.
    public let id: String

    /// The key in 32 bytes.
    public let rawRepresentation: Data

    /// Throws unless the key has 32 bytes.
    public init(rawRepresentation: some ContiguousBytes) throws {
        try self.init(Curve25519.Signing.PublicKey(rawRepresentation: rawRepresentation))
    }

    /// Reads the `x` of a JSON Web Key (RFC 8037 §2); `nil` unless it has 32 bytes.
    public init?(base64URL: String) {
        guard
            let bytes = Base64.url.bytes(in: base64URL.utf8),
            // The initializer throws only for a wrong length.
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
        else { return nil }
        self.init(key)
    }

    init(_ key: Curve25519.Signing.PublicKey) {
        self.rawRepresentation = Data(key.rawRepresentation)
        // RFC 7638 §3 requires the members in the order of their names, without blanks.
        let text = #"{"crv":"Ed25519","kty":"OKP","x":"\#(Base64.url.text(of: self.rawRepresentation))"}"#
        self.id = Base64.url.text(of: SHA256.hash(data: Data(text.utf8)))
    }

    /// The key in base64 for URLs, without padding.
    public var base64URL: String { Base64.url.text(of: self.rawRepresentation) }

    /// Whether the key's owner has signed `base`.
    public func isSignature(_ signature: some Sequence<UInt8>, over base: SignatureBase) -> Bool {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: self.rawRepresentation) else {
            preconditionFailure("a key that has been one still is one")
        }
        return key.isValidSignature(Data(signature), for: Data(base.text.utf8))
    }
}
