internal import Cryptography
internal import Glibc
internal import PushCore
internal import PushStore
internal import Synchronization

/// Caches the bodies of notifications that many phones fetch at the same moment.
///
/// A broadcast makes thousands of phones fetch the same encrypted payload. With the cache, the
/// server decrypts the payload once for each event loop instead of once for each phone.
///
/// The store still answers every fetch. The cache uses an entry only if the store has just
/// returned the bytes that the entry was made from. A notification that was recalled, has expired
/// or was encrypted with another key therefore never comes from the cache. Payloads that may be
/// read once are not cached.
///
/// Each event loop has 32 slots of its own, of at most 16 KiB, so that loops do not wait for each
/// other. The last bits of the notification's id select the slot; they are random. The second
/// fetch of a notification fills the slot, and a fetch of another notification empties it. An
/// entry lives for five to ten seconds, and its memory is overwritten before it is freed.
final class BodyCache: Sendable {
    /// The time between two calls of `evictOld`.
    static let interval = Duration.seconds(5)
    /// The length of the longest cached body, in bytes.
    static let longest = 16_384
    static let slotCount = 32

    private struct Slot {
        /// The notification that was fetched last.
        var id: NotificationID?
        var entry: Entry?
        /// Whether a call of `evictOld` has already found this entry; the next call evicts it.
        var isOld = false
    }

    /// It is a class, so that a fetch copies only a reference.
    fileprivate final class Entry: Sendable {
        let notification: StoredNotification
        let body: SecretBytes

        init(notification: StoredNotification, body: SecretBytes) {
            (self.notification, self.body) = (notification, body)
        }
    }

    private final class Loop: Sendable {
        let slots = Mutex([Slot](repeating: Slot(), count: slotCount))
    }

    private let loops: [Loop]

    /// `loopCount` is the number of event loops that serve requests.
    init(loopCount: Int) {
        self.loops = (0..<loopCount).map { _ in Loop() }
    }

    /// Returns the body of an unread notification from the cache, or the result of `decrypt`.
    ///
    /// - Parameters:
    ///   - notification: The notification's row, which the store has just returned.
    ///   - loop: The index of the caller's event loop.
    ///   - decrypt: Makes the body; its error is thrown.
    func body<Failure>(
        of id: NotificationID,
        _ notification: StoredNotification,
        on loop: Int,
        decrypt: () throws(Failure) -> [UInt8]
    ) throws(Failure) -> [UInt8] {
        guard notification.readAt == nil, !notification.isReadOnce else { return try decrypt() }
        let index = Self.index(of: id)
        let (entry, wasFetched) = self.loops[loop].slots.withLock { slots in
            if slots[index].id == id { return (slots[index].entry, true) }
            slots[index] = Slot(id: id)
            return (nil, false)
        }
        if let entry, entry.isMade(from: notification) { return entry.body.withUnsafeBytes { Array($0) } }
        let body = try decrypt()
        if wasFetched, body.count <= Self.longest {
            let secret = body.withUnsafeBytes { SecretBytes(copying: $0) }
            let slot = Slot(id: id, entry: Entry(notification: notification, body: secret))
            self.loops[loop].slots.withLock { $0[index] = slot }
        }
        return body
    }

    /// Evicts the entries that the previous call of this function has already found.
    func evictOld() {
        for loop in self.loops {
            loop.slots.withLock { slots in
                for index in slots.indices where slots[index].id != nil {
                    if slots[index].isOld { slots[index] = Slot() } else { slots[index].isOld = true }
                }
            }
        }
    }

    /// Evicts a notification on all loops.
    func evict(_ id: NotificationID) {
        let index = Self.index(of: id)
        for loop in self.loops {
            loop.slots.withLock { if $0[index].id == id { $0[index] = Slot() } }
        }
    }

    /// The number of cached bodies, for tests.
    var count: Int {
        self.loops.reduce(0) { sum, loop in
            sum + loop.slots.withLock { $0.count { $0.entry != nil } }
        }
    }

    private static func index(of id: NotificationID) -> Int {
        Int(truncatingIfNeeded: id.rawValue) & (self.slotCount - 1)
    }
}

extension BodyCache.Entry {
    /// Whether the body was made from a notification with the same encrypted bytes and the same
    /// times as `other`.
    fileprivate func isMade(from other: StoredNotification) -> Bool {
        let (own, others) = (self.notification.sealedPayload, other.sealedPayload)
        guard
            own.count == others.count, self.notification.createdAt == other.createdAt,
            self.notification.expiresAt == other.expiresAt,
            self.notification.isStoredByClients == other.isStoredByClients
        else { return false }
        return own.withUnsafeBytes { own in
            others.withUnsafeBytes { others in
                guard let own = own.baseAddress, let start = others.baseAddress else { return true }
                return memcmp(own, start, others.count) == 0
            }
        }
    }
}
