internal import Bytes
internal import Cryptography
internal import Foundation
internal import PushCore

/// Turns the numbers of changes into cursors, and cursors back into numbers.
///
/// A cursor is one AES block over the number and its list, under a separate key. The same number
/// and list always make the same cursor, so that it can be a validator. It reveals nothing about
/// the server's activity, and clients cannot derive one cursor from another. At most two in 2^64
/// invented texts pass for a cursor.
struct CursorMaker: Sendable {
    /// The list of a cursor; the cursor is valid for this list only.
    struct List: Sendable, Hashable {
        let user: Int64
        let app: AppName
        /// The list of unread notifications skips those that are read. Its cursor, if used for the
        /// full list, would miss them.
        let isUnreadOnly: Bool

        /// Ids of users have fewer than 40 bits in any database. The app takes 23 of the other
        /// bits, or none if it is the default app.
        fileprivate var number: UInt64 {
            UInt64(bitPattern: self.user) ^ self.appBits << 40 | (self.isUnreadOnly ? 1 << 63 : 0)
        }

        private var appBits: UInt64 {
            if self.app == .usual { return 0 }
            // FNV-1a. If two apps have the same bits, a client could only use its cursor of one
            // app for its own list of the other.
            let hash = self.app.description.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01b3
            }
            return hash >> 41
        }
    }

    private let key: SymmetricKey

    init(key: SymmetricKey) {
        self.key = key
    }

    func cursor(at change: Int64, of list: List) -> String {
        var block = [UInt8]()
        block.append(bigEndian: UInt64(bitPattern: change))
        block.append(bigEndian: list.number)
        // Throws only for a wrong length of the block or the key.
        try? AES.permute(&block, key: self.key)
        return Base64.url.text(of: block)
    }

    /// The number of the change at the cursor; `nil` if the cursor was not issued for that list.
    func change(at cursor: String, of list: List) -> Int64? {
        guard
            var block = Base64.url.bytes(in: cursor.utf8), block.count == 16,
            (try? AES.inversePermute(&block, key: self.key)) != nil
        else { return nil }
        let number = block.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let reader = block.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard reader == list.number, number <= Int64.max else { return nil }
        return Int64(number)
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: UInt64) {
        Swift.withUnsafeBytes(of: number.bigEndian) { self.append(contentsOf: $0) }
    }
}
