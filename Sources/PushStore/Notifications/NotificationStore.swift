package import Foundation
package import PushCore

/// Reads notifications, as far as a user may see them.
package protocol NotificationReader: SharedReader {
    /// The notification, if it has not expired and the user is one of its recipients. With
    /// `alsoAsSender`, also if the user has sent it.
    ///
    /// Only recipients can see a read-once payload. Throws `StoreError.damaged` if the MAC of the
    /// recipient's row shows that the store has not written this row.
    func notification(_ fetch: NotificationFetch) async throws(StoreError) -> StoredNotification?

    /// The next changes of a user's notifications, the oldest first. Of each notification, only
    /// the latest change is returned.
    ///
    /// Payloads are read only if `needsPayloads` returns `true` for the page. If the page exceeds
    /// the budget, `needsPayloads` is not called. Throws `StoreError.damaged` if the MAC of a
    /// recipient's row shows that the store has not written this row.
    func notifications(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage

    /// The notifications in `ids` that belong to this app and that the user has received, in the
    /// order of their last changes. If the page cannot contain all of them, `hasMore` is `true`.
    func notifications(
        _ ids: [NotificationID],
        of app: AppName,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage

    /// The number of the newest change of the user's notifications, or a higher number.
    func newestChange(ofUser user: Int64) async throws(StoreError) -> Int64
}

/// Stores new notifications.
package protocol PostStore: Sendable {
    /// Adds the hashes for the store's lookups to an audience. This reads no database, so the
    /// caller can do it before the post.
    func hashed(_ audience: Audience) -> HashedAudience

    /// Stores notifications of one sender in their order, in one transaction. Returns an outcome
    /// for each notification. A notification is stored with its recipients and one outbox row for
    /// each device, or it is refused; a refusal does not affect the other notifications. If the id
    /// of a notification is in use, this notification and all later notifications get the outcome
    /// `idTaken`. The caller can then store them again in order.
    ///
    /// If the notification has more than `page` devices, this call stores only the first page of
    /// outbox rows. It also stores a fan-out that inserts the other rows later. If `page` is
    /// `nil`, the store has a default. An idempotency key is stored with its notification, unless
    /// an earlier request has already stored it.
    ///
    /// `batch` is the idempotency key for the whole batch; it is stored with the first
    /// notification. If a request with another content has used the same key, nothing is stored,
    /// and each outcome is `keyReused`.
    func post(_ request: PostRequest) async throws -> [PostOutcome]
}

/// Stores notifications, and their state for each recipient.
package protocol NotificationStore: PostStore {
    /// Marks a notification as read or unread for a recipient. The store keeps the time of the
    /// first read.
    ///
    /// `ifStill` is the mark that the notification must have before; `nil`: any mark.
    func mark(
        _ id: NotificationID,
        as mark: ReadMark,
        by user: Int64,
        ifStill expected: ReadMark?,
        now: Date
    ) async throws -> MarkOutcome

    /// Marks notifications as read for a recipient, in one transaction. Returns the notifications
    /// that are now read; notifications that the user cannot see, or whose app the user may not
    /// use, are left out. Also returns the apps of those that were unread before. The change
    /// numbers are in the order of `ids`.
    func markRead(
        _ ids: [NotificationID],
        by user: User,
        now: Date
    ) async throws -> (read: [NotificationID], changedApps: Set<AppName>)

    /// Dismisses a notification for one of its recipients, and cancels its pushes to this user.
    /// Returns `false` if the user does not see the notification, or if its mark (read or unread)
    /// is not the expected one.
    func dismiss(
        _ id: NotificationID,
        by user: Int64,
        ifStill mark: ReadMark?,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> Bool

    /// Leases a read-once payload to a recipient, who may fetch it until the lease ends.
    ///
    /// The first call determines the end of the lease. Until the lease ends, or until `take`,
    /// nothing changes for the recipient.
    func lease(
        _ id: NotificationID,
        to user: Int64,
        until end: Date,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> PayloadLease

    /// Ends a recipient's lease of a read-once payload, because the payload has arrived.
    ///
    /// The recipient's row stays, so that the user's other devices learn that the payload was
    /// collected; the pushes to these devices are cancelled. When the last recipient has collected
    /// the payload, the payload is erased.
    func take(
        _ id: NotificationID,
        by user: Int64,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> TakeOutcome

    /// Ends expired leases as `take` does, at most `limit`. Returns the end of the next lease, or
    /// `nil` if there are no more leases. The returned time is past if further leases have
    /// expired.
    func endLeases(now: Date, limit: Int) async throws -> Date?

    /// Recalls a notification from all recipients: its payload is erased at once, and no further
    /// push is sent.
    ///
    /// Returns `false` if there is no such notification, or if `recaller` may not recall it.
    /// `cancelRecalled` cancels the pushes later; if a push becomes due earlier, it is cancelled
    /// at that time. If the app's devices get looks (pushes that tell a device to sync), the
    /// recall also records that its looks are missing. If there are more than `page` recipients,
    /// one stored row records the recall for all of them; if `page` is `nil`, the store has a
    /// default.
    func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        recording record: AuditRecord?,
        page: Int?,
        now: Date
    ) async throws -> Bool

    /// Cancels one page of a recalled notification's pushes: those to devices with numbers above
    /// `device`. Returns the last device number of the page, or `nil` after the last page.
    func cancelRecalled(_ id: NotificationID, after device: Int64, page: Int?, now: Date) async throws -> Int64?

    /// Records a recipient's first fetch of these payloads. The store writes the record later; a
    /// crash may lose it.
    ///
    /// When the record is written, a waiting push is cancelled if the fetch certainly came from
    /// that push's device.
    func recordFetches(of ids: [NotificationID], by user: Int64, now: Date)

    /// Returns once the store has tried to write all receipts that were recorded before.
    func writeReceipts() async throws

    /// Deletes the next part of the expired data; `false` if nothing is left to delete.
    ///
    /// A broadcast has a row for each of its devices. The store deletes these rows page by page,
    /// so that no other write waits long.
    func deleteExpired(now: Date, page: Int) async throws -> Bool

    /// Deletes at most `limit` expired idempotency keys; returns the number of deleted keys.
    func deleteExpiredIdempotency(now: Date, limit: Int) async throws -> Int
}
