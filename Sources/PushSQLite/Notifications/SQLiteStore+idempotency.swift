package import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    package func deleteExpiredIdempotency(now: Date, limit: Int) async throws -> Int {
        try await self.writer.write(.housekeeping) { db in
            try db.cachedStatement(
                sql: """
                    delete from idempotency where key in (
                        select key from idempotency where created_at <= ? order by created_at limit ?)
                    """
            ).execute(arguments: [(now - IdempotentRequest.lifetime).milliseconds, limit])
            return db.changesCount
        }
    }

    /// The outcome of an earlier request with the same key; `nil` if this is the first.
    static func earlierOutcome(_ db: Database, of request: IdempotentRequest, now: Date) throws -> PostOutcome? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    select request, notification_id, created_at, expires_at, recipients, pushes from idempotency
                    where key = ? and created_at > ?
                    """
            ),
            arguments: [request.key, (now - IdempotentRequest.lifetime).milliseconds]
        )
        guard let row else { return nil }
        guard try row[0] as Data == request.request else { return .keyReused }
        guard let id = NotificationID(rawValue: try row[1]) else { throw StoreError.damaged(row: "an idempotency key") }
        var reach: Reach?
        if let recipients = try row[4] as Int?, let pushes = try row[5] as Int? {
            reach = Reach(recipients: recipients, pushes: pushes)
        }
        return .repeated(
            id,
            createdAt: Date(milliseconds: try row[2]),
            expiresAt: Date(milliseconds: try row[3]),
            reach: reach
        )
    }

    /// Stores a request in the transaction of its notification, so that neither is stored without
    /// the other.
    ///
    /// An incomplete reach is not stored: a repeated request gets the same answer, although more
    /// may be known.
    static func record(
        _ db: Database,
        _ request: IdempotentRequest,
        of notification: NewNotification,
        _ reach: Reach
    ) throws {
        try db.run(
            prepared: """
                insert or replace into idempotency
                    (key, request, notification_id, created_at, expires_at, recipients, pushes)
                values (?, ?, ?, ?, ?, ?, ?)
                """,
            request.key,
            request.request,
            notification.id.rawValue,
            notification.createdAt.milliseconds,
            notification.expiresAt.milliseconds,
            reach.isComplete ? reach.recipients : nil,
            reach.isComplete ? reach.pushes : nil
        )
    }
}
