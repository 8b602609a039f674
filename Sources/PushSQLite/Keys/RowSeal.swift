internal import Crypto
internal import Foundation
internal import PushCore

/// Keyed hashes by which rows are known to be as the store has written them.
///
/// Who may see a payload is told by rows of a few bytes. A flipped bit, or a hand in the file, could make them another
/// user's; these hashes let such a row be found out before anything is handed over.
struct RowSeal: Sendable {
    private let hash: KeyedHash

    init(key: SymmetricKey) {
        self.hash = KeyedHash(key: key)
    }

    /// Of a row of `recipient`.
    func recipient(of notification: Int64, user: Int64) -> Int64 {
        self.code(1, (notification, user, 0, 0))
    }

    /// Of a row of `token`: whose it is.
    func token(_ fingerprint: Fingerprint, user: Int64) -> Int64 {
        fingerprint.withUnsafeBytes { bytes in
            // Half of a SHA-256 tells tokens apart as well as all of it.
            let half = (0..<2).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self) }
            return self.code(2, (half[0], half[1], user, 0))
        }
    }

    /// A quarter of the code of a message of fixed length.
    private func code(_ table: Int64, _ values: (Int64, Int64, Int64, Int64)) -> Int64 {
        let message = (table.bigEndian, values.0.bigEndian, values.1.bigEndian, values.2.bigEndian, values.3.bigEndian)
        return self.hash.code { hash in withUnsafeBytes(of: message) { hash.update(bufferPointer: $0) } }
            .withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    }
}
