internal import Foundation
internal import GRDB
internal import PushCore

/// What is to be pushed to the devices of an audience.
struct PushTarget {
    let id: Int64
    /// Its place in the order in which notifications came, which no clock changes.
    let sequence: Int64
    let collapseID: String?
    let isReadOnce: Bool
    let expiresAt: Date
    let audience: HashedAudience
}

/// What the store makes recipients and pushes with.
struct Pusher: Sendable {
    let sealing: Sealing
    let changes: ChangeNumbers
    let notes: TransactionNotes
    /// Whether a device of that lane and registration id cannot be reached until it comes by itself.
    let isAway: @Sendable (_ lane: String, _ device: String) -> Bool
}

/// Makes recipients and outbox rows of devices, one after the other, within one transaction.
struct PushInsertion {
    /// How many pushes were made, and how many of them are due.
    private(set) var count = 0
    private(set) var dueCount = 0
    private let target: PushTarget
    private let pusher: Pusher
    private let isBulk: Bool
    private let now: Date
    /// All recipients that are made with one page get the same number: a user becomes one only once.
    private let change: Int64
    /// Users who have become recipients in this transaction.
    private var newRecipients: Set<Int64>
    /// Users who were recipients before it, and have not put it away.
    private var earlierRecipients: Set<Int64> = []

    init(_ target: PushTarget, by pusher: Pusher, isBulk: Bool, newRecipients: Set<Int64> = [], now: Date) {
        self.target = target
        self.pusher = pusher
        self.isBulk = isBulk
        self.newRecipients = newRecipients
        self.now = now
        self.change = pusher.changes.next()
    }

    /// Makes the device's user a recipient, and puts a push into the outbox, unless there is one, the user has put the
    /// notification away, or a newer one of the same collapse key has passed this one.
    mutating func insert(_ device: AudienceDevice, _ db: Database) throws {
        guard try self.addRecipient(device.user, db), try self.isNewest(for: device, db) else { return }
        let isAway = self.pusher.isAway(device.lane, device.id)
        let inserted = try db.run(
            prepared: """
                insert into delivery (notification_id, device, user_id, lane, is_bulk, state, due_at, reason)
                values (?, ?, ?, ?, ?, 'queued', ?, ?) on conflict (notification_id, device) do nothing
                """,
            self.target.id,
            device.number,
            device.user,
            device.lane,
            self.isBulk,
            isAway ? self.returnDate(of: device.user) : self.now.milliseconds,
            isAway ? SQLiteStore.away : nil
        )
        guard inserted == 1 else { return }
        self.pusher.notes.count(.enqueued, lane: device.lane)
        self.count += 1
        if !isAway { self.dueCount += 1 }
    }

    // MARK: - Private

    /// When a push to a device that is not there is looked at though it has not come; `nil`, parked: never.
    ///
    /// What is parked is found by a recipient's row that is newer than when the device last came, as one made here is.
    private func returnDate(of user: Int64) -> Int64? {
        self.newRecipients.contains(user) ? nil : self.target.expiresAt.milliseconds
    }

    /// Whether the user is one now, and has not put it away.
    private mutating func addRecipient(_ user: Int64, _ db: Database) throws -> Bool {
        if self.newRecipients.contains(user) || self.earlierRecipients.contains(user) { return true }
        let isNew = try SQLiteStore.insertRecipient(
            user,
            of: self.target,
            change: self.change,
            self.pusher.sealing,
            db,
            now: self.now
        )
        if isNew {
            self.newRecipients.insert(user)
            return true
        }
        let isPutAway = try db.first(
            prepared: "select dismissed_at is not null from recipient where notification_id = ? and user_id = ?",
            self.target.id,
            user
        ) { $0.integer(0) != 0 }
        if isPutAway == true { return false }
        self.earlierRecipients.insert(user)
        return true
    }

    /// Notes the notification as the newest of its collapse key for the device, and cancels the one whose place it
    /// takes; `false` if a newer one is there.
    private func isNewest(for device: AudienceDevice, _ db: Database) throws -> Bool {
        guard let collapseID = self.target.collapseID else { return true }
        let last = try db.first(
            prepared: "select notification_id, sequence from collapse where device = ? and collapse_id = ?",
            device.number,
            collapseID
        ) { (notification: $0.integer(0), sequence: $0.integer(1)) }
        if let last {
            if last.notification == self.target.id { return true }
            guard last.sequence <= self.target.sequence else { return false }
            try self.cancel(last.notification, device, db)
        }
        try db.run(
            prepared: """
                insert into collapse (device, collapse_id, notification_id, sequence) values (?, ?, ?, ?)
                on conflict (device, collapse_id) do update set notification_id = excluded.notification_id,
                    sequence = excluded.sequence
                """,
            device.number,
            collapseID,
            self.target.id,
            self.target.sequence
        )
        return true
    }

    private func cancel(_ notification: Int64, _ device: AudienceDevice, _ db: Database) throws {
        let lane = try SQLiteStore.cancel(
            notification,
            device: device.number,
            reason: "replaced by a newer push with the same CollapseKey",
            db,
            now: self.now
        )
        if let lane { self.pusher.notes.count(.cancelled, lane: lane) }
    }
}
