package import Cryptography
internal import Foundation

/// Message authentication codes of rows. They show whether the store itself has written a row.
///
/// Small rows determine who may fetch a payload. A flipped bit, or a change of the file by hand,
/// could assign such a row to another user. So the store checks the code of a row before it uses
/// the row.
package struct RowMAC: Sendable {
    private let hash: KeyedHash

    package init(key: SymmetricKey) {
        self.hash = KeyedHash(key: key)
    }

    /// The code for a row of `recipient`, which binds the recipient to the notification.
    package func recipient(of notification: Int64, user: Int64) -> Int64 {
        self.code(1, (notification, user, 0, 0))
    }

    /// The code for a row of `token`, which binds the token to its user.
    package func token(_ fingerprint: Fingerprint, user: Int64) -> Int64 {
        fingerprint.withUnsafeBytes { bytes in
            // The first half of the SHA-256 hash is enough to identify a token.
            let half = (0..<2).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self) }
            return self.code(2, (half[0], half[1], user, 0))
        }
    }

    /// The first quarter of an HMAC over a message of fixed length.
    private func code(_ table: Int64, _ values: (Int64, Int64, Int64, Int64)) -> Int64 {
        let message = (table.bigEndian, values.0.bigEndian, values.1.bigEndian, values.2.bigEndian, values.3.bigEndian)
        return self.hash.code { hash in withUnsafeBytes(of: message) { hash.update(bufferPointer: $0) } }
            .withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    }
}
