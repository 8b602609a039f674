package import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    package func deleteExpiredIdempotency(now: Date, limit: Int) async throws -> Int {
        try await self.writer.write(.housekeeping) { db in
            try db.run(
                prepared: """
                    delete from idempotency where key in (
                        select key from idempotency where created_at <= ? order by created_at limit ?)
                    """,
                (now - IdempotentRequest.lifetime).milliseconds,
                limit
            )
        }
    }

    /// Stores an idempotency key in the same transaction as its notification. So neither is stored
    /// without the other.
    static func record(
        _ db: Database,
        _ request: IdempotentRequest,
        of notification: NewNotification,
        _ reach: Reach
    ) throws {
        let stored = StoredRequest(request, of: notification, reach)
        try db.run(
            prepared:
                "insert or replace into idempotency (key, \(StoredRequest.columns)) values (?, ?, ?, ?, ?, ?, ?)",
            request.key,
            stored.request,
            stored.notification,
            stored.createdAt,
            stored.expiresAt,
            stored.recipients,
            stored.pushes
        )
    }
}
