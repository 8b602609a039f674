internal import Cryptography
package import Foundation

/// Keyed hashes with which the database finds and compares values that it must not reveal: names,
/// handles and tags.
///
/// HMAC-SHA-256 truncated to 16 bytes (RFC 2104, section 5), under a key for each kind. Among 2^32
/// values, the probability of a collision is 2^-65.
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

    /// A keyed hash that is equal for every spelling of the name.
    package func hash(_ name: Username) -> Data { Self.hash(name.key, self.names) }

    package func hash(_ handle: DeviceHandle) -> Data { Self.hash(handle.value, self.handles) }

    /// A keyed hash for a claim: a user's request to register a handle, which the user has not
    /// confirmed. All claims of one user to one handle of a platform have the same hash. The hash
    /// reveals neither who registered the handle nor who else claims it.
    package func hash(_ handle: DeviceHandle, on platform: Platform, claimedBy user: Int64) -> Data {
        // Neither a number nor a handle contains a blank, so the text is unambiguous.
        Self.hash("\(user) \(handle.value) \(platform)", self.claims)
    }

    package func hash(_ tag: Tag) -> Data { Self.hash(tag.description, self.tags) }

    private static func hash(_ text: String, _ key: KeyedHash) -> Data {
        Data(key.code { $0.update(data: Array(text.utf8)) }.prefix(Self.length))
    }
}
