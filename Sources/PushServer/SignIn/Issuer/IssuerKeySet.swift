internal import Bytes
internal import Cryptography
internal import Foundation
internal import PushAPI

/// The public keys of an issuer: a JSON Web Key Set (RFC 7517).
package struct IssuerKeySet: Sendable {
    /// The largest number of keys of a set.
    static let maximumCount = 100

    private let keys: [Key]
    /// The entries of the set that this server cannot use to verify tokens.
    let skipped: [SkippedKey]

    /// Reads a set. Skips keys that are unreadable, of an unknown kind, or not for signatures (RFC
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
        var (keys, skipped): ([Key], [SkippedKey]) = ([], [])
        for entry in entries {
            do throws(UnusableKey) {
                keys.append(try Key(entry))
            } catch {
                skipped.append(SkippedKey(id: entry["kid"]?.text, reason: error.reason))
            }
        }
        guard !keys.isEmpty else {
            let reasons = skipped.prefix(5).map(\.description).joined(separator: ", ")
            throw IssuerDocumentError(
                "the key set has no key that verifies tokens" + (reasons.isEmpty ? "" : ": \(reasons)")
            )
        }
        (self.keys, self.skipped) = (keys, skipped)
    }

    /// The ids and the algorithms of the keys, as texts for the log.
    var names: [String] {
        self.keys.map { key in
            let algorithms = key.algorithms.map(\.rawValue).sorted().joined(separator: "/")
            return "\(key.id ?? "no kid") for \(algorithms)"
        }
    }

    /// Whether the set `other` has all keys of this set.
    func isContained(in other: IssuerKeySet) -> Bool {
        let others = Set(other.keys.map(\.identity))
        return self.keys.allSatisfy { others.contains($0.identity) }
    }

    /// The keys that may have signed the token. For a token without a `kid`, the only key that
    /// suits the token's algorithm, or no key if several suit it.
    private func candidates(for token: SignedToken) -> [Key] {
        let suitable = self.keys.filter { $0.algorithms.contains(token.algorithm) }
        guard let id = token.keyID else { return suitable.count == 1 ? suitable : [] }
        return suitable.filter { $0.id?.utf8.elementsEqual(id.utf8) == true }
    }

    /// Whether the set has a key that may have signed the token.
    func hasKey(for token: SignedToken) -> Bool { !self.candidates(for: token).isEmpty }

    /// Whether a key of the set has signed the token.
    func verifies(_ token: SignedToken) -> Bool {
        self.candidates(for: token).contains { $0.material.verifies(token) }
    }
}

/// A key of a set that this server cannot use to verify tokens.
package struct SkippedKey: Sendable, Hashable, CustomStringConvertible {
    let id: String?
    let reason: String

    package var description: String { "\((self.id ?? "no kid").clipped(to: 100)): \(self.reason)" }
}

private struct UnusableKey: Error {
    let reason: String
}

/// A key of a set.
private struct Key: Sendable {
    let id: String?
    let algorithms: Set<TokenAlgorithm>
    let material: Material
    /// The values that identify the key: two keys are equal if these values are equal.
    let identity: [String?]

    /// Reads a key. Throws if the server cannot use it to verify tokens. Ignores its certificates
    /// (`x5c`): the TLS connection to the issuer authenticates all keys of the set.
    init(_ value: JSONValue) throws(UnusableKey) {
        guard case .object = value else { throw UnusableKey(reason: "not an object") }
        guard value["use"]?.text ?? "sig" == "sig" else { throw UnusableKey(reason: "use is not sig") }
        if case .array(let uses) = value["key_ops"], !uses.contains(.string("verify")) {
            throw UnusableKey(reason: "key_ops lacks verify")
        }
        let material = try Material(value)
        var algorithms = TokenAlgorithm.allCases.filter { material.suits($0.method) }
        if let name = value["alg"]?.text {
            algorithms = algorithms.filter { $0.rawValue == name }
            guard !algorithms.isEmpty else { throw UnusableKey(reason: "alg does not suit the key, or is not known") }
        }
        (self.material, self.algorithms) = (material, Set(algorithms))
        self.id = value["kid"]?.text
        self.identity = ["kid", "alg", "n", "e", "x", "y"].map { value[$0]?.text }
    }
}

/// A public key that verifies signatures.
private enum Material: Sendable {
    case rsa(RSA.Signing.PublicKey)
    case ecdsa(ECDSA.PublicKey)
    case ed25519(Curve25519.Signing.PublicKey)

    /// The length of the modulus in bytes: verification with a longer modulus would take long.
    private static let modulus = 256...1024
    private static let maximumExponent = 4

    init(_ value: JSONValue) throws(UnusableKey) {
        func bytes(_ name: String) throws(UnusableKey) -> [UInt8] {
            guard let bytes = value[name]?.text.flatMap({ Base64.url.bytes(in: $0.utf8) }) else {
                throw UnusableKey(reason: "\(name) is missing, or is not base64url")
            }
            return bytes
        }
        switch (value["kty"]?.text, value["crv"]?.text) {
        case ("RSA", _):
            let (n, e) = (try bytes("n"), try bytes("e"))
            guard
                Self.modulus.contains(n.count), (1...Self.maximumExponent).contains(e.count),
                let key = try? RSA.Signing.PublicKey(n: n, e: e)
            else { throw UnusableKey(reason: "RSA needs 2048 to 8192 bits and a usual exponent") }
            self = .rsa(key)
        case ("EC", "P-256"): self = try Self.point(.p256, try bytes("x"), try bytes("y"))
        case ("EC", "P-384"): self = try Self.point(.p384, try bytes("x"), try bytes("y"))
        case ("EC", "P-521"): self = try Self.point(.p521, try bytes("x"), try bytes("y"))
        case ("OKP", "Ed25519"):
            guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: try bytes("x")) else {
                throw UnusableKey(reason: "x is not a key on Ed25519")
            }
            self = .ed25519(key)
        case ("EC", _), ("OKP", _): throw UnusableKey(reason: "crv is not P-256, P-384, P-521 or Ed25519")
        default: throw UnusableKey(reason: "kty is not RSA, EC or OKP")
        }
    }

    private static func point(_ curve: ECDSA.Curve, _ x: [UInt8], _ y: [UInt8]) throws(UnusableKey) -> Material {
        let length = curve.scalarByteCount
        guard
            x.count == length, y.count == length,
            let key = try? ECDSA.PublicKey(rawRepresentation: x + y, on: curve)
        else { throw UnusableKey(reason: "x and y are not a point on the curve") }
        return .ecdsa(key)
    }

    func suits(_ method: TokenAlgorithm.Method) -> Bool {
        switch (self, method) {
        case (.rsa, .rsa), (.ed25519, .ed25519): true
        case (.ecdsa(let key), .ecdsa(let curve)): key.curve == curve
        default: false
        }
    }

    func verifies(_ token: SignedToken) -> Bool {
        switch (self, token.algorithm.method) {
        case (.rsa(let key), .rsa(let padding, let hash)):
            key.isValidSignature(token.signature, for: token.message, padding: padding, hash: hash)
        case (.ecdsa(let key), .ecdsa(let curve)):
            key.curve == curve && key.isValidSignature(token.signature, for: token.message)
        case (.ed25519(let key), .ed25519): key.isValidSignature(token.signature, for: token.message)
        default: false
        }
    }
}

extension String {
    /// The text's first `count` Unicode scalars. The log shows only so much of texts from tokens
    /// and key sets.
    func clipped(to count: Int) -> String {
        guard
            let end = self.unicodeScalars.index(
                self.startIndex,
                offsetBy: count,
                limitedBy: self.endIndex
            ), end < self.endIndex
        else { return self }
        return self[..<end] + "…"
    }
}
