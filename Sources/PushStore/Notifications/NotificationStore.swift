package import Foundation
package import PushCore

/// Reads notifications as their users may see them.
package protocol NotificationReader: Sendable {
    /// The notification, if it has not expired and the user is a recipient; with `alsoAsSender`,
    /// also if the user has sent it.
    ///
    /// A read-once payload is visible to its recipients only. Throws `StoreError.damaged` if the
    /// store did not write the row that makes the user a recipient.
    func notification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) async throws(StoreError) -> StoredNotification?

    /// The next changes of a user, the latest of each notification, oldest first.
    ///
    /// Payloads are read only if `needsPayloads` returns `true` for the page; it is not called for
    /// a page beyond the budget. Throws `StoreError.damaged` if the store did not write one of the
    /// rows that make the user a recipient.
    func notifications(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage

    /// The app's notifications among `ids` that the user has received, oldest change first;
    /// `hasMore` is set if not all fit.
    func notifications(
        _ ids: [NotificationID],
        of app: AppName,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage

    /// The app of each of these notifications that has not expired, of any sender.
    func apps(of ids: [NotificationID], now: Date) async throws(StoreError) -> [NotificationID: AppName]

    /// The number of the newest change that the user sees, or a higher one.
    func newestChange(ofUser user: Int64) async throws(StoreError) -> Int64
}

/// Stores new notifications.
package protocol PostStore: Sendable {
    /// An audience with the hashes for the store's lookups. This needs no database, so the caller
    /// can do it in advance.
    func hashed(_ audience: Audience) -> HashedAudience

    /// Stores notifications of one sender in order, in one transaction: each with its recipients
    /// and one outbox row for each device, or not at all. Returns an outcome for each; a refused
    /// notification changes nothing for the others. After a notification whose id is in use, no
    /// further one is stored. All of these have the outcome `idTaken`, so that the caller can
    /// store them again in order.
    ///
    /// For more devices than a `page`, this call stores only the first page of outbox rows, and a
    /// fan-out that creates the other rows. With `nil`, the store's own page size counts. An
    /// idempotent request is stored with its notification, unless the request was stored before.
    ///
    /// `batch` is the idempotent request that contains all of them, and is stored with the first
    /// notification. If another request has used the same idempotency key, nothing is stored and
    /// each outcome is `keyReused`.
    func post(
        _ posts: [NewNotification],
        of batch: IdempotentRequest?,
        within bounds: StorageBounds?,
        page: Int?
    ) async throws -> [PostOutcome]
}

/// Stores notifications and their states for each recipient.
package protocol NotificationStore: PostStore {
    /// Marks a notification as read or unread for a recipient. The store keeps the time of the
    /// first read.
    ///
    /// `ifStill` is the mark that the notification must have beforehand, if any.
    func mark(
        _ id: NotificationID,
        as mark: ReadMark,
        by user: Int64,
        ifStill expected: ReadMark?,
        now: Date
    ) async throws -> MarkOutcome

    /// Marks notifications as read for a recipient, all in one transaction; returns the
    /// notifications that are read now, without those that the user cannot see, and whether any of
    /// them was unread before.
    func markRead(
        _ ids: [NotificationID],
        by user: Int64,
        now: Date
    ) async throws -> (read: [NotificationID], hasChanged: Bool)

    /// Dismisses a notification for one of its recipients, and cancels its pushes to that user;
    /// `false` if the user sees no such notification, or its mark is not the expected one.
    func dismiss(
        _ id: NotificationID,
        by user: Int64,
        ifStill mark: ReadMark?,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> Bool

    /// Leases a read-once payload to a recipient, who may fetch it until the lease ends.
    ///
    /// The first call sets the end of the lease. The recipient sees no change until then, or until
    /// `take`.
    func lease(
        _ id: NotificationID,
        to user: Int64,
        until end: Date,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> PayloadLease

    /// Ends a recipient's lease of a read-once payload, because the payload has arrived.
    ///
    /// The recipient's row stays and informs the user's other devices, whose pushes are cancelled.
    /// When the last recipient has taken the payload, it is erased.
    func take(
        _ id: NotificationID,
        by user: Int64,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> TakeOutcome

    /// Ends expired leases, at most `limit`, as `take` does. Returns when the next lease ends,
    /// which is not after `now` if more have expired; `nil` if there is none.
    func endLeases(now: Date, limit: Int) async throws -> Date?

    /// Recalls a notification from all recipients: its payload is deleted at once, and it is no
    /// longer sent.
    ///
    /// Returns `false` if there is no such notification, or it is another sender's.
    /// `cancelRecalled` cancels the pushes later; a push that is due before that is cancelled when
    /// it is due. For more than a `page` of recipients one stored row stands for all of them;
    /// `nil`: the store's own page size.
    func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        recording record: AuditRecord?,
        page: Int?,
        now: Date
    ) async throws -> Bool

    /// Cancels a page of the pushes of a recalled notification, after a device number; returns the
    /// last number of the page, or `nil` after the last page.
    func cancelRecalled(_ id: NotificationID, after device: Int64, page: Int?, now: Date) async throws -> Int64?

    /// Records the first fetch of payloads by a recipient. The caller does not wait for the write,
    /// and a crash may lose it.
    ///
    /// A push that still waits is then cancelled, if the fetch must have come from its device.
    func recordFetches(of ids: [NotificationID], by user: Int64, now: Date)

    /// Returns once all receipts recorded before are written, or could not be.
    func writeReceipts() async throws

    /// Deletes the next part of the expired data; `false` once there is nothing more.
    ///
    /// A broadcast has a row for each of its devices: the store deletes them page by page, so that
    /// no other write waits long.
    func deleteExpired(now: Date, page: Int) async throws -> Bool

    /// Deletes expired idempotent requests; returns the number deleted, at most `limit`.
    func deleteExpiredIdempotency(now: Date, limit: Int) async throws -> Int
}

extension NotificationStore {
    /// Recalls a notification.
    package func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        recording record: AuditRecord? = nil,
        now: Date
    ) async throws -> Bool {
        try await self.recall(id, by: recaller, recording: record, page: nil, now: now)
    }

    /// Cancels a page of pushes, of the store's own page size.
    package func cancelRecalled(_ id: NotificationID, after device: Int64, now: Date) async throws -> Int64? {
        try await self.cancelRecalled(id, after: device, page: nil, now: now)
    }
}
