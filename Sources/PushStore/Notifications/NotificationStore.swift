package import Foundation
package import PushCore

/// Reads notifications as their users may see them.
package protocol NotificationReader: Sendable {
    /// The notification, if the user is a recipient, or its sender and asks as such, and it has not expired.
    ///
    /// What may be read once is its recipients' alone. Throws `StoreError.damaged` if the row that makes the user a
    /// recipient was not written by the store.
    func notification(
        _ id: NotificationID,
        for user: Int64,
        alsoAsSender: Bool,
        now: Date
    ) async throws(StoreError) -> StoredNotification?

    /// The next of a user's changes, the last of each notification, oldest first.
    ///
    /// Payloads are read only if `needsPayloads` says so about the page, which is not asked about one beyond the budget.
    /// Throws `StoreError.damaged` if one of the rows that make the user a recipient was not written by the store.
    func notifications(
        _ range: ChangeRange,
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage

    /// Those of these notifications that the user is a recipient of, oldest change first; `hasMore` if not all fit.
    func notifications(
        _ ids: [NotificationID],
        for user: Int64,
        now: Date,
        within budget: PageBudget,
        needsPayloads: (NotificationPage) -> Bool
    ) async throws(StoreError) -> NotificationPage

    /// The number of the newest change of what the user sees, or a higher one.
    func newestChange(ofUser user: Int64) async throws(StoreError) -> Int64
}

/// Stores notifications, and what becomes of them with their recipients.
package protocol NotificationStore: Sendable {
    /// Stores a notification, its recipients and one outbox row for each device, together or not at all.
    ///
    /// For more than a `page` of devices it stores the first of them, and the work of finding the others; `nil`: as many
    /// as the store likes. A request that has to be answered `once` is noted with it, unless it has been before.
    func post(
        _ notification: NewNotification,
        once request: IdempotentRequest?,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        page: Int?
    ) async throws -> PostOutcome

    /// Notes that a recipient has read a notification, or has not. The first time that it was read is kept.
    ///
    /// `ifStill` is the mark that it must have had before, if any.
    func mark(
        _ id: NotificationID,
        as mark: ReadMark,
        by user: Int64,
        ifStill expected: ReadMark?,
        now: Date
    ) async throws -> MarkOutcome

    /// Notes that a recipient has read notifications, all in one transaction; returns those that are read now, and leaves
    /// out those that the user cannot see.
    func markRead(_ ids: [NotificationID], by user: Int64, now: Date) async throws -> [NotificationID]

    /// Dismisses a notification for one of its recipients, whose pushes of it are cancelled; `false` if the user can
    /// see no such notification, or has marked it otherwise than expected.
    func dismiss(
        _ id: NotificationID,
        by user: Int64,
        ifStill mark: ReadMark?,
        noting record: AuditRecord?,
        now: Date
    ) async throws -> Bool

    /// Leases a payload that may be read once to a recipient, who may fetch it until the lease ends.
    ///
    /// The first call decides when that is. The recipient sees no change until then, or until `take`.
    func lease(
        _ id: NotificationID,
        to user: Int64,
        until end: Date,
        noting record: AuditRecord?,
        now: Date
    ) async throws -> PayloadLease

    /// Ends a recipient's lease of a payload that may be read once, since the payload has arrived.
    ///
    /// The recipient's row stays and tells the user's other devices, whose pushes are cancelled. With the last recipient the
    /// payload is erased.
    func take(
        _ id: NotificationID,
        by user: Int64,
        noting record: AuditRecord?,
        now: Date
    ) async throws -> TakeOutcome

    /// Ends the next of the leases that are over, at most `limit`, as `take` does; returns when the next one ends, which is not
    /// after `now` if there are more, and `nil` if there is none.
    func endLeases(now: Date, limit: Int) async throws -> Date?

    /// Recalls a notification from all recipients: its payload is gone at once, and nothing of it is sent any more.
    ///
    /// Returns `false` if there is no such notification, or it is another's. The pushes are cancelled with
    /// `cancelRecalled`; those that are due before it comes to them are cancelled then. To more than a `page` of
    /// recipients the recall is noted once for all; `nil`: as many as the store likes.
    func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        noting record: AuditRecord?,
        page: Int?,
        now: Date
    ) async throws -> Bool

    /// Cancels a page of the pushes of a notification that was recalled, behind a device's number; returns the last
    /// number that it has come to, or `nil` after the last page.
    func cancelRecalled(_ id: NotificationID, after device: Int64, page: Int?, now: Date) async throws -> Int64?

    /// Notes that a recipient has fetched the payloads, the first time. Not awaited, and may be lost with a crash.
    ///
    /// A push that still waits for its time is then cancelled, if it must have been its device that fetched.
    func noteFetches(of ids: [NotificationID], by user: Int64, now: Date)

    /// Returns once all receipts that were noted before are written, or could not be.
    func writeReceipts() async throws

    /// Deletes the next part of what has expired; `false` once there is nothing more.
    ///
    /// A broadcast has a row for each of its devices: they go page by page, so that no caller waits long behind them.
    func deleteExpired(now: Date, page: Int) async throws -> Bool

    /// Forgets some of the requests that were remembered for long enough; returns how many, at most `limit`.
    func deleteExpiredIdempotency(now: Date, limit: Int) async throws -> Int
}

extension NotificationStore {
    /// Stores a notification.
    package func post(
        _ notification: NewNotification,
        once request: IdempotentRequest? = nil,
        by record: AuditRecord? = nil,
        within bounds: StorageBounds? = nil
    ) async throws -> PostOutcome {
        try await self.post(notification, once: request, by: record, within: bounds, page: nil)
    }

    /// Recalls a notification.
    package func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        noting record: AuditRecord? = nil,
        now: Date
    ) async throws -> Bool {
        try await self.recall(id, by: recaller, noting: record, page: nil, now: now)
    }

    /// Cancels a page of pushes, as large as the store likes.
    package func cancelRecalled(_ id: NotificationID, after device: Int64, now: Date) async throws -> Int64? {
        try await self.cancelRecalled(id, after: device, page: nil, now: now)
    }

    /// Notes that a recipient has fetched a payload.
    package func noteFetch(of id: NotificationID, by user: Int64, now: Date) {
        self.noteFetches(of: [id], by: user, now: now)
    }
}
