package import Foundation
package import PushCore

extension SharedReader {
    /// The app of each of these notifications, whoever has sent it. Expired notifications are left
    /// out.
    package func apps(of ids: [NotificationID], now: Date) async throws(StoreError) -> [NotificationID: AppName] {
        let found: [NotificationApp] = try await self.all(Self.apps, [.integers(ids.map(\.rawValue)), .date(now)])
        return Dictionary(found.map { ($0.id, $0.app) }) { first, _ in first }
    }

    /// Whether the notification exists and is not recalled. If `sender` is not `nil`, this user
    /// must have sent it.
    package func isThere(_ id: NotificationID, from sender: Int64?, now: Date) async throws(StoreError) -> Bool {
        try await self.exists(Self.isThere, [.integer(id.rawValue), .date(now), .integer(sender)])
    }

    /// Whether the fan-out of a notification may still find devices; `false` if its audience
    /// cannot be read.
    package func isFanningOut(_ id: NotificationID) async throws(StoreError) -> Bool {
        try await self.exists(Self.isFanningOut, [.integer(id.rawValue)])
    }

    /// The pushes of a notification to devices with numbers above `device`, at most `limit`.
    package func deliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> [DeliveryEntry] {
        try await self.all(Self.deliveries, [.integer(id.rawValue), .integer(device), .count(limit)])
    }

    /// The pushes of a notification to the devices of one user, at most `limit`.
    package func deliveries(
        of id: NotificationID,
        toUser user: Int64,
        limit: Int
    ) async throws(StoreError) -> [DeliveryEntry] {
        try await self.all(Self.deliveriesToUser, [.integer(id.rawValue), .integer(user), .count(limit)])
    }

    /// Counts the next `limit` pushes of a notification to devices with numbers above `device`.
    /// `last` is the last device number that was counted; `nil` if no further pushes follow.
    package func countDeliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> (counts: [DeliveryStage: Int], last: Int64?) {
        let rows: [StageCount] = try await self.all(
            Self.counts,
            [.integer(id.rawValue), .integer(device), .count(limit)]
        )
        let counts = Dictionary(rows.map { ($0.stage, $0.count) }) { first, _ in first }
        return (counts, counts.values.reduce(0, +) < limit ? nil : rows.reduce(0) { max($0, $1.last) })
    }

    /// The failed pushes of all notifications, the newest first: at most `limit` that have failed
    /// since `since` and come after `last` in this list. A failed push is stored as long as its
    /// notification.
    package func failedPushes(
        since: Date,
        before last: FailurePlace?,
        limit: Int
    ) async throws(StoreError) -> [FailedPush] {
        let (at, id, device) = (last?.at.milliseconds ?? .max, last?.notification ?? .max, last?.device ?? .max)
        return try await self.all(
            Self.failedPushes,
            [.date(since), .integer(at), .integer(id), .integer(device), .count(limit)]
        )
    }

    /// A notification's recipients with user numbers above `user`, at most `limit`.
    package func recipients(
        of id: NotificationID,
        after user: Int64,
        limit: Int
    ) async throws(StoreError) -> [RecipientEntry] {
        try await self.all(Self.recipients, [.integer(id.rawValue), .integer(user), .count(limit)])
    }

    /// The summary of a notification, even if it has expired or was recalled; `nil` if it is not
    /// stored any more.
    package func summary(of id: NotificationID) async throws(StoreError) -> NotificationSummary? {
        try await self.first(Self.summary, .integer(id.rawValue))
    }

    /// A user's notifications that have changed last, the newest change first.
    package func latestNotifications(ofUser user: Int64, limit: Int) async throws(StoreError) -> [NotificationSummary] {
        try await self.all(Self.latestNotifications, [.integer(user), .count(limit)])
    }

    /// The time at which a scheduled notification will be sent; `nil` if it was sent already, or
    /// was never scheduled.
    package func sendTime(of id: NotificationID) async throws(StoreError) -> Date? {
        try await self.number(Self.sendTime, [.integer(id.rawValue)]).map(Date.init(milliseconds:))
    }

    /// The last number that the receiver of events has acknowledged; 0 if it has acknowledged
    /// none.
    package func lastDeliveredEvent() async throws(StoreError) -> Int64 { try await self.number(Self.delivered) ?? 0 }

    /// The number of the newest entry of the audit. If each writer has its own numbers, this is
    /// the number of entries that were ever written. It is 0 if there has never been an entry.
    package func lastAuditNumber() async throws(StoreError) -> Int64 { try await self.number(Self.lastAudit) ?? 0 }
}

private struct NotificationApp: StoredEntity {
    let id: NotificationID
    let app: AppName

    private enum Column: Int32, SelectedColumn {
        case id, app
    }

    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let id = NotificationID(rawValue: try row.integer(Column.id)) else { return nil }
        (self.id, self.app) = (id, AppName(stored: try row.optionalText(Column.app)))
    }
}

/// The number of pushes in one stage, and the highest device number among these pushes.
private struct StageCount: StoredEntity {
    let stage: DeliveryStage
    let count: Int
    let last: Int64

    private enum Column: Int32, SelectedColumn {
        case stage, count, last
    }

    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let stage = DeliveryStage(rawValue: try row.text(Column.stage)) else { return nil }
        (self.stage, self.last) = (stage, try row.integer(Column.last))
        self.count = Int(clamping: try row.integer(Column.count))
    }
}
