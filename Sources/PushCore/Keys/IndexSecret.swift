package import Cryptography
package import Foundation

/// The secret that derives the keys for all keyed hashes.
///
/// The secret is created together with the database, and is stored in it, encrypted. So the hashes
/// stay valid when the keys that encrypt data change.
package struct IndexSecret: Sendable {
    private let key: SymmetricKey

    /// A new random secret.
    package init() {
        self.key = SymmetricKey(size: .bits256)
    }

    /// Returns `nil` unless there are 32 bytes.
    package init?(bytes: Data) {
        guard bytes.count == 32 else { return nil }
        self.key = SymmetricKey(data: bytes)
    }

    /// The 32 bytes of the secret, which are stored encrypted.
    package var bytes: Data { self.key.withUnsafeBytes { Data($0) } }

    /// The key for one purpose, derived by HKDF (RFC 5869). The key reveals nothing about the keys
    /// for other purposes.
    package func derive(_ purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: self.key,
            info: Data("sealpost \(purpose)".utf8),
            outputByteCount: 32
        )
    }
}
