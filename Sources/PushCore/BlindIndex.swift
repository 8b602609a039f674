internal import Crypto
package import Foundation

/// Keyed hashes by which the database finds and compares what it must not show: names, handles and tags.
///
/// HMAC-SHA-256 cut to 16 bytes (RFC 2104, section 5), under a key for each kind. That two of 2^32 values meet has the
/// odds of 1 to 2^65.
package struct BlindIndex: Sendable {
    package static let length = 16

    private let names: SymmetricKey
    private let handles: SymmetricKey
    private let tags: SymmetricKey

    package init(_ secret: IndexSecret) {
        self.names = secret.derive("user name")
        self.handles = secret.derive("device handle")
        self.tags = secret.derive("device tag")
    }

    /// The same for every spelling of the name.
    package func hash(_ name: Username) -> Data { Self.hash(name.key, self.names) }

    package func hash(_ handle: DeviceHandle) -> Data { Self.hash(handle.value, self.handles) }

    package func hash(_ tag: Tag) -> Data { Self.hash(tag.description, self.tags) }

    private static func hash(_ text: String, _ key: SymmetricKey) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key).prefix(Self.length))
    }
}
