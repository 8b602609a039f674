package import HTTPSignatures
internal import PushAPI
package import PushCore

/// The keys that sign answers. The first key signs, unless the client requests another one.
///
/// The text form of the set is a `KeyText` with the seeds of the keys.
package struct SigningKeySet: NumberedKeys {
    /// A key with its number in the file.
    package struct Numbered: Sendable {
        package let number: UInt32
        package let key: SigningKey
    }

    /// The keys, in the order of the file. There is at least one key.
    package let keys: [Numbered]
    /// The public halves of all keys, as a JSON Web Key Set (RFC 7517, RFC 8037).
    let published: [UInt8]

    package static let comment =
        "Keys that Sealpost signs answers with: the first, unless another is asked for. Apps pin the public halves."

    package static func inUse(_ number: UInt32) -> KeyTextError { .signing(number) }

    /// A set of one new random key, which no app can have pinned.
    package static func random() -> SigningKeySet {
        SigningKeySet([Numbered(number: 1, key: SigningKey())])
    }

    /// Reads the text form of a set. Throws `KeyTextError` if the text is invalid.
    package init(text: String) throws(KeyTextError) {
        var keys: [Numbered] = []
        for entry in try KeyText.keys(in: text) {
            guard let key = try? SigningKey(rawRepresentation: entry.secret) else {
                preconditionFailure("any 32 bytes are a seed")
            }
            guard !keys.contains(where: { $0.key.id == key.id }) else { throw .repeated(entry.number) }
            keys.append(Numbered(number: entry.number, key: key))
        }
        self.init(keys)
    }

    private init(_ keys: [Numbered]) {
        self.keys = keys
        let published = JSONValue.object([
            .init("keys", .array(keys.map { Self.webKey($0.key.publicKey) }))
        ])
        self.published = published.bytes
    }

    /// The key with that id; if there is none, the first key.
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
