internal import Foundation
package import HTTPSignatures
internal import PushAPI

/// The keys that answers are signed with: the first, unless another is asked for.
///
/// As text, a line for each key: a number from 1 to 2^32-1 and the 32 bytes of its seed in base64. Empty lines and lines
/// that begin with `#` say nothing.
package struct SigningKeySet: Sendable {
    /// A key under the number that the file has for it.
    package struct Numbered: Sendable {
        package let number: UInt32
        package let key: SigningKey
    }

    /// At least one.
    package let keys: [Numbered]
    /// All public halves as a JSON Web Key Set (RFC 7517, RFC 8037).
    let published: [UInt8]

    /// One new random key, which nobody can have pinned.
    package static func random() -> SigningKeySet {
        SigningKeySet([Numbered(number: 1, key: SigningKey())])
    }

    /// Throws `SigningKeyError` with the line that is wrong.
    package init(text: String) throws(SigningKeyError) {
        var keys: [Numbered] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.hasPrefix("#") { continue }
            let words = line.split(separator: " ")
            guard
                words.count == 2, let number = UInt32(words[0]), number > 0,
                let seed = Data(base64Encoded: String(words[1])),
                // It throws for a wrong length only.
                let key = try? SigningKey(rawRepresentation: seed)
            else { throw .malformed(line: index + 1) }
            guard !keys.contains(where: { $0.number == number || $0.key.id == key.id }) else { throw .repeated(number) }
            keys.append(Numbered(number: number, key: key))
        }
        guard !keys.isEmpty else { throw .empty }
        self.init(keys)
    }

    private init(_ keys: [Numbered]) {
        self.keys = keys
        let published = JSONValue.object([
            .init("keys", .array(keys.map { Self.webKey($0.key.publicKey) }))
        ])
        self.published = published.bytes
    }

    /// The key of that id, or else the first.
    func key(_ id: String?) -> SigningKey {
        (self.keys.first { $0.key.id == id } ?? self.keys[0]).key
    }

    private static func webKey(_ key: VerificationKey) -> JSONValue {
        .object([
            .init("kty", .string("OKP")), .init("crv", .string("Ed25519")), .init("kid", .string(key.id)),
            .init("x", .string(key.base64URL)), .init("alg", .string("EdDSA")), .init("use", .string("sig")),
        ])
    }
}

/// Signing keys that cannot be used.
package enum SigningKeyError: Error, Hashable, CustomStringConvertible {
    case malformed(line: Int)
    case repeated(UInt32)
    case empty
    case missing(UInt32)
    /// The key that signs cannot go.
    case signing(UInt32)
    /// The greatest number is in use.
    case full

    package var description: String {
        switch self {
        case .malformed(let line): "line \(line) is not a number and 32 bytes in base64"
        case .repeated(let number): "key \(number) is there twice"
        case .empty: "it holds no key"
        case .missing(let number): "it holds no key \(number)"
        case .signing(let number): "key \(number) is the one that signs"
        case .full: "no number is left for another key"
        }
    }
}
