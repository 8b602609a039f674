internal import Bytes
internal import Cryptography
internal import Foundation
internal import PushCore

/// Turns the numbers of changes into cursors, and cursors back into numbers.
///
/// A cursor is one AES block: the number and the list, encrypted with a key that has no other use.
/// The same number and the same list always make the same cursor, so that a cursor can be an
/// entity tag. A cursor reveals nothing about the server's activity, and clients cannot derive one
/// cursor from another. Of 2^64 invented texts, at most two are valid cursors.
struct CursorMaker: Sendable {
    /// The list to which a cursor belongs; the cursor is valid for this list only.
    struct List: Sendable, Hashable {
        let user: Int64
        let app: AppName
        /// Whether the list has only unread notifications. Its cursor must not be valid for the
        /// full list: the client would miss the notifications that are read.
        let isUnreadOnly: Bool

        /// The list as one number. The ids of users have fewer than 40 bits in any database. The
        /// app's hash takes 23 of the other bits; the default app's bits are 0. One bit is for
        /// `isUnreadOnly`.
        fileprivate var number: UInt64 {
            UInt64(bitPattern: self.user) ^ self.appBits << 40 | (self.isUnreadOnly ? 1 << 63 : 0)
        }

        private var appBits: UInt64 {
            if self.app == .usual { return 0 }
            // The hash is FNV-1a, which suffices. If two apps have the same bits, the only effect
            // is that a client can use a cursor of its list for one app in its own list for the
            // other app.
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
        // `permute` throws only if the block or the key has a wrong length.
        try? AES.permute(&block, key: self.key)
        return Base64.url.text(of: block)
    }

    /// The number of the change at the cursor; `nil` if the cursor was not issued for `list`.
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
