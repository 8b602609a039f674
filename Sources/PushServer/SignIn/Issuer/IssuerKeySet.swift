internal import Bytes
internal import Cryptography
internal import Foundation
internal import PushAPI

/// The public keys of an issuer: a JSON Web Key Set (RFC 7517).
package struct IssuerKeySet: Sendable {
    /// The largest number of keys of a set.
    static let maximumCount = 100

    private let keys: [Key]

    /// Reads a set. Leaves out unreadable keys, and keys of other kinds or for other uses (RFC
    /// 7517 section 5).
    ///
    /// Throws if the text is not a key set, has more than `maximumCount` keys, or has no key that
    /// could verify a token.
    package init(_ bytes: [UInt8]) throws(IssuerDocumentError) {
        guard let value = try? JSONValue(reading: bytes), case .array(let entries) = value["keys"] else {
            throw IssuerDocumentError("the key set is not a JSON Web Key Set")
        }
        guard entries.count <= Self.maximumCount else {
            throw IssuerDocumentError("the key set has more than \(Self.maximumCount) keys")
        }
        self.keys = entries.compactMap { Key($0) }
        guard !self.keys.isEmpty else { throw IssuerDocumentError("the key set has no RSA, P-256 or Ed25519 key") }
    }

    /// Whether the other set has all of these keys, too.
    func isContained(in other: IssuerKeySet) -> Bool {
        let others = Set(other.keys.map(\.identity))
        return self.keys.allSatisfy { others.contains($0.identity) }
    }

    /// The keys that may have signed the token. Without a `kid`, only a single key that suits its
    /// algorithm.
    private func candidates(for token: SignedToken) -> [Key] {
        let suitable = self.keys.filter { $0.algorithms.contains(token.algorithm) }
        guard let id = token.keyID else { return suitable.count == 1 ? suitable : [] }
        return suitable.filter { $0.id?.utf8.elementsEqual(id.utf8) == true }
    }

    /// Whether there is a key that may have signed the token.
    func hasKey(for token: SignedToken) -> Bool { !self.candidates(for: token).isEmpty }

    /// Whether one of the keys has signed the token.
    func verifies(_ token: SignedToken) -> Bool {
        self.candidates(for: token).contains { $0.material.verifies(token) }
    }
}

/// A key of a set.
private struct Key: Sendable {
    let id: String?
    let algorithms: Set<TokenAlgorithm>
    let material: Material
    /// Equal for the same key under the same id.
    let identity: [String?]

    /// `nil` for a key that cannot verify tokens.
    init?(_ value: JSONValue) {
        guard case .object = value, value["use"]?.text ?? "sig" == "sig" else { return nil }
        if case .array(let uses) = value["key_ops"], !uses.contains(.string("verify")) { return nil }
        func bytes(_ name: String) -> [UInt8]? { value[name]?.text.flatMap { Base64.url.bytes(in: $0.utf8) } }
        var algorithms: Set<TokenAlgorithm>
        switch (value["kty"]?.text, value["crv"]?.text) {
        case ("RSA", _):
            guard let n = bytes("n"), let e = bytes("e"), let key = Material(rsaModulus: n, exponent: e) else {
                return nil
            }
            (self.material, algorithms) = (key, [.rs256, .ps256])
        case ("EC", "P-256"):
            guard let x = bytes("x"), let y = bytes("y"), let key = Material(x: x, y: y) else { return nil }
            (self.material, algorithms) = (key, [.es256])
        case ("OKP", "Ed25519"):
            guard let x = bytes("x"), let key = Material(ed25519: x) else { return nil }
            (self.material, algorithms) = (key, [.edDSA])
        default: return nil
        }
        if let name = value["alg"]?.text {
            algorithms = algorithms.filter { $0.rawValue == name }
            guard !algorithms.isEmpty else { return nil }
        }
        self.algorithms = algorithms
        self.id = value["kid"]?.text
        self.identity = ["kid", "alg", "n", "e", "x", "y"].map { value[$0]?.text }
    }
}

/// A public key that verifies signatures.
private enum Material: Sendable {
    case rsa(RSA.Signing.PublicKey)
    case p256(P256.Signing.PublicKey)
    case ed25519(Curve25519.Signing.PublicKey)

    /// The length of the modulus in bytes: verification with a longer one would take long.
    private static let modulus = 256...1024
    private static let maximumExponent = 4

    init?(rsaModulus n: [UInt8], exponent e: [UInt8]) {
        guard Self.modulus.contains(n.count), (1...Self.maximumExponent).contains(e.count) else { return nil }
        guard let key = try? RSA.Signing.PublicKey(n: n, e: e) else { return nil }
        self = .rsa(key)
    }

    init?(x: [UInt8], y: [UInt8]) {
        guard x.count == 32, y.count == 32 else { return nil }
        guard let key = try? P256.Signing.PublicKey(rawRepresentation: x + y) else { return nil }
        self = .p256(key)
    }

    init?(ed25519 x: [UInt8]) {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: x) else { return nil }
        self = .ed25519(key)
    }

    func verifies(_ token: SignedToken) -> Bool {
        switch (self, token.algorithm) {
        case (.rsa(let key), .rs256): key.isValidSignature(token.signature, for: token.message, padding: .pkcs1v15)
        case (.rsa(let key), .ps256): key.isValidSignature(token.signature, for: token.message, padding: .pss)
        case (.p256(let key), .es256):
            // A signature of another length is invalid.
            if let signature = try? P256.Signing.ECDSASignature(rawRepresentation: token.signature) {
                key.isValidSignature(signature, for: token.message)
            } else {
                false
            }
        case (.ed25519(let key), .edDSA): key.isValidSignature(token.signature, for: token.message)
        default: false
        }
    }
}
