internal import Cryptography
package import Foundation

/// Keyed hashes with which the database finds and compares values that it must not reveal: names,
/// handles and tags.
///
/// HMAC-SHA-256 truncated to 16 bytes (RFC 2104, section 5), with a separate key for each kind of
/// value. Among 2^32 values, the probability of a collision is 2^-65.
package struct BlindIndex: Sendable {
    package static let length = 16

    private let names: KeyedHash
    private let handles: KeyedHash
    private let claims: KeyedHash
    private let tags: KeyedHash

    package init(_ secret: IndexSecret) {
        self.names = KeyedHash(key: secret.derive("user name"))
        self.handles = KeyedHash(key: secret.derive("device handle"))
        self.claims = KeyedHash(key: secret.derive("claimed device handle"))
        self.tags = KeyedHash(key: secret.derive("device tag"))
    }

    /// The keyed hash of a user's name; it is the same whether letters are upper or lower case.
    package func hash(_ name: Username) -> Data { Self.hash(name.key, self.names) }

    package func hash(_ handle: DeviceHandle) -> Data { Self.hash(handle.value, self.handles) }

    /// The keyed hash of a claim to a handle: a user has asked to register the handle, and has not
    /// confirmed yet that it is the user's own. All claims of one user to the same handle of a
    /// platform have the same hash. The hash reveals neither who has registered the handle nor
    /// which other users claim it.
    package func hash(_ handle: DeviceHandle, on platform: Platform, claimedBy user: Int64) -> Data {
        // Neither a number nor a handle contains a blank, so different claims have different
        // texts.
        Self.hash("\(user) \(handle.value) \(platform)", self.claims)
    }

    package func hash(_ tag: Tag) -> Data { Self.hash(tag.description, self.tags) }

    private static func hash(_ text: String, _ key: KeyedHash) -> Data {
        Data(key.code { $0.update(data: Array(text.utf8)) }.prefix(Self.length))
    }
}
