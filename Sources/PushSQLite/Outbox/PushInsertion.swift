internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// The parts of the store that a `PushInsertion` needs.
struct Pusher: Sendable {
    let sealing: Sealing
    let changes: ChangeNumbers
    /// Decides which of the tags that devices set have an effect.
    let tags: TagPolicy
    let notes: TransactionNotes
    /// Whether a device cannot be reached before it connects. The device is identified by its lane
    /// and its registration id.
    let isAway: @Sendable (_ lane: String, _ device: String) -> Bool
    /// `looks` and `lookLifetime` of `StoreOptions`.
    let looks: [String: Duration]
    let lookLifetime: TimeInterval
}

/// Inserts the recipients of a notification, and the pushes to their devices, one after the other,
/// within one transaction.
struct PushInsertion {
    /// The number of inserted pushes, and the number of those that are due now.
    private(set) var count = 0
    private(set) var dueCount = 0
    /// The number of users who have become recipients in this transaction.
    var recipientCount: Int { self.newRecipients.count }
    private let target: PushTarget
    private let pusher: Pusher
    private let isBulk: Bool
    private let now: Date
    /// The change number that all recipients of this transaction get. A single number is enough,
    /// since a user becomes a recipient only once.
    private let change: Int64
    /// The users who have become recipients in this transaction.
    private var newRecipients: Set<Int64>
    /// The users who were recipients before this transaction and have not dismissed the
    /// notification.
    private var earlierRecipients: Set<Int64> = []

    init(_ target: PushTarget, by pusher: Pusher, isBulk: Bool, newRecipients: Set<Int64> = [], now: Date) {
        self.target = target
        self.pusher = pusher
        self.isBulk = isBulk
        self.newRecipients = newRecipients
        self.now = now
        self.change = pusher.changes.next()
    }

    /// Makes the users of a page recipients, and inserts pushes to the page's devices.
    mutating func insert(_ page: AudiencePage, _ db: Database) throws {
        for device in page.devices { try self.insert(device, db) }
        for user in page.users { _ = try self.addRecipient(user, db) }
    }

    // MARK: - Private

    /// Makes the device's user a recipient, and inserts a push into the outbox. Inserts no push if
    /// the device already has one, or has a newer notification with the same collapse key. Also
    /// inserts no push if the user has dismissed the notification.
    private mutating func insert(_ device: AudienceDevice, _ db: Database) throws {
        guard try self.addRecipient(device.user, db), try self.isNewest(for: device, db) else { return }
        let isAway = self.pusher.isAway(device.lane, device.id)
        let dueAt = isAway ? self.dueAway(device) : self.now
        guard try self.enqueue(device, dueAt: dueAt, isAway: isAway, db) else { return }
        self.pusher.notes.count(.enqueued, lane: device.lane)
        self.count += 1
        if !isAway { self.dueCount += 1 }
    }

    /// When the push to a device becomes due that cannot be reached; `nil`: it waits without a due
    /// time until the device connects.
    ///
    /// When a device connects, the store finds pushes without a due time through its user's rows
    /// in `recipient` that are newer than the device's last connection. So a push may wait in this
    /// way only if this transaction has inserted its recipient's row: an older row might not be
    /// found. Other pushes become due when the notification expires, or earlier if the device
    /// connects.
    private func dueAway(_ device: AudienceDevice) -> Date? {
        self.newRecipients.contains(device.user) ? nil : self.target.expiresAt
    }

    /// Inserts the push into the outbox; `false` if the device already has a push of this
    /// notification.
    private func enqueue(_ device: AudienceDevice, dueAt: Date?, isAway: Bool, _ db: Database) throws -> Bool {
        try db.run(
            """
            insert into push (notification_id, device, user_id, lane, is_bulk, state, due_at, reason)
            values (?, ?, ?, ?, ?, 'queued', ?, ?) on conflict (notification_id, device) do nothing
            """,
            self.target.id,
            device.number,
            device.user,
            device.lane,
            self.isBulk,
            dueAt?.milliseconds,
            isAway ? PushReason.away : nil
        ) == 1
    }

    /// Makes the user a recipient. Returns `false` if the user already was a recipient and has
    /// dismissed the notification, or if the user must not get its payload.
    private mutating func addRecipient(_ user: Int64, _ db: Database) throws -> Bool {
        if self.newRecipients.contains(user) || self.earlierRecipients.contains(user) { return true }
        if try self.pusher.addRecipient(user, of: self.target, change: self.change, db, now: self.now) {
            self.newRecipients.insert(user)
            return true
        }
        let isDismissed = try db.first(
            "select dismissed_at is not null from recipient where notification_id = ? and user_id = ?",
            self.target.id,
            user
        ) { try $0.flag() }
        guard isDismissed == false else { return false }
        self.earlierRecipients.insert(user)
        return true
    }

    /// Stores the notification as the device's newest with its collapse key, and cancels the push
    /// of the previous notification. Returns `false` if the device already has a newer
    /// notification with this key.
    private func isNewest(for device: AudienceDevice, _ db: Database) throws -> Bool {
        guard let collapseID = self.target.collapseID else { return true }
        let last = try db.first(
            "select notification_id, sequence from collapse where device = \(device.number) and collapse_id = \(collapseID)"
        ) { try (notification: $0.integer("notification_id"), sequence: $0.integer("sequence")) }
        if let last {
            let replaces = self.target.replaces(last.notification, sequence: last.sequence)
            guard replaces == true else { return replaces == nil }
            let push = DuePush(notification: last.notification, device: device.number)
            try SQLiteStore.cancel(push, reason: PushReason.replaced, db, now: self.now)
        }
        try db.run(
            """
            insert into collapse (device, collapse_id, notification_id, sequence)
            values (\(device.number), \(collapseID), \(self.target.id), \(self.target.sequence))
            on conflict (device, collapse_id) do update set notification_id = excluded.notification_id,
                sequence = excluded.sequence
            """
        )
        return true
    }
}
