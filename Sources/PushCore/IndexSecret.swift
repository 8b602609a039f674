package import Crypto
package import Foundation

/// The secret of which the keys for all keyed hashes are made.
///
/// It is made once with the database, in which it lies sealed, so that what was found by a hash is found by it after any
/// change of the data keys.
package struct IndexSecret: Sendable {
    private let key: SymmetricKey

    /// A new random one.
    package init() {
        self.key = SymmetricKey(size: .bits256)
    }

    /// `nil` unless it is 32 bytes long.
    package init?(bytes: Data) {
        guard bytes.count == 32 else { return nil }
        self.key = SymmetricKey(data: bytes)
    }

    /// To be sealed.
    package var bytes: Data { self.key.withUnsafeBytes { Data($0) } }

    /// The key for one purpose, which tells nothing about the keys for others: HKDF, RFC 5869.
    package func derive(_ purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: self.key,
            info: Data("sealpost \(purpose)".utf8),
            outputByteCount: 32
        )
    }
}
