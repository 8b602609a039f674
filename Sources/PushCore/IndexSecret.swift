package import Cryptography
package import Foundation

/// The secret that derives the keys for all keyed hashes.
///
/// It is created once with the database and stored there encrypted, so that the hashes stay valid
/// when the data keys change.
package struct IndexSecret: Sendable {
    private let key: SymmetricKey

    /// A new random secret.
    package init() {
        self.key = SymmetricKey(size: .bits256)
    }

    /// `nil` unless there are 32 bytes.
    package init?(bytes: Data) {
        guard bytes.count == 32 else { return nil }
        self.key = SymmetricKey(data: bytes)
    }

    /// The 32 bytes, for encryption.
    package var bytes: Data { self.key.withUnsafeBytes { Data($0) } }

    /// The key for one purpose, which reveals nothing about the keys for other purposes: HKDF, RFC
    /// 5869.
    package func derive(_ purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: self.key,
            info: Data("sealpost \(purpose)".utf8),
            outputByteCount: 32
        )
    }
}
