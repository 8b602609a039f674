package import Foundation
internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

extension SQLiteStore {
    package func deleteExpired(now: Date, page: Int) async throws -> Bool {
        let (hasMore, shown) = try await self.writer.write(.housekeeping) { db in
            let expired = try db.all(SQL(sql: Self.expired), now.milliseconds, page) {
                try (id: $0.integer("id"), app: AppName(stored: $0.optionalText("app")))
            }
            if !expired.isEmpty {
                self.writer.recordErasure()
                self.removals.record(now)
            }
            var left = page
            var shown: Set<LookOrder> = []
            for (id, app) in expired {
                var users: Set<Int64> = []
                left -= try self.delete(id, atMost: left, &users, db)
                shown.formUnion(users.map { LookOrder(user: $0, app: app) })
                if left <= 0 { return (true, shown) }
            }
            return (expired.count == page, shown)
        }
        // The devices of these users may still show the notification, so they must sync.
        for order in shown { self.lookBook.record(order) }
        return hasMore
    }

    package func deleteExpiredIdempotency(now: Date, limit: Int) async throws -> Int {
        let end = (now - IdempotentRequest.lifetime).milliseconds
        return try await self.writer.write(.housekeeping) { db in
            try db.run(
                """
                delete from idempotency where key in (
                    select key from idempotency where created_at <= \(end) order by created_at limit \(limit))
                """
            )
        }
    }

    static let expired = "select id, app from notification where expires_at <= ? order by expires_at limit ?"

    /// Deletes at most `limit` rows of a notification. If no more rows remain, also deletes the
    /// notification itself. Returns the number of deleted rows. Adds to `shown` the recipients who
    /// have neither read nor dismissed the notification.
    private func delete(_ id: Int64, atMost limit: Int, _ shown: inout Set<Int64>, _ db: Database) throws -> Int {
        // The fan-out is deleted first, so that no further device gets the notification.
        try db.run("delete from fanout where notification_id = \(id)")
        let rows = try db.all(
            """
            delete from push where notification_id = \(id) and device in (
                select device from push where notification_id = \(id) order by device limit \(limit))
            returning lane, settled_at, device
            """
        ) { try (lane: $0.text("lane"), isSettled: $0.optionalDate("settled_at") != nil, device: $0.integer("device")) }
        // This code tests whether a push is settled, since the query cannot: in SQLite 3.40, `is
        // null` is never true in the columns that a `delete` returns.
        for row in rows where !row.isSettled { self.pusher.notes.count(.expired, lane: row.lane) }
        try Self.forgetCollapsing(db, id, devices: rows.map(\.device))
        if rows.count == limit { return limit }
        let recipients = try db.all(
            """
            delete from recipient where notification_id = \(id) and user_id in (
                select user_id from recipient
                where notification_id = \(id) order by user_id limit \(limit - rows.count))
            returning user_id, read_at, dismissed_at
            """
        ) { row in
            let isOpen = try row.optionalDate("read_at") == nil && row.optionalDate("dismissed_at") == nil
            return (user: try row.integer("user_id"), isOpen: isOpen)
        }
        shown.formUnion(recipients.filter(\.isOpen).map(\.user))
        if rows.count + recipients.count == limit { return limit }
        try db.run("delete from notification where id = \(id)")
        return rows.count + recipients.count + 1
    }

    /// Deletes the rows which say that a notification is the newest one with its collapse key for
    /// these devices.
    private static func forgetCollapsing(_ db: Database, _ id: Int64, devices: [Int64]) throws {
        let key = try db.first("select collapse_id from notification where id = \(id) and collapse_id is not null") {
            try $0.text()
        }
        guard let key else { return }
        for device in devices {
            try db.run(
                "delete from collapse where device = \(device) and collapse_id = \(key) and notification_id = \(id)"
            )
        }
    }
}

/// The time when expired notifications were last deleted. After a deletion, no row shows any more
/// when these notifications expired.
final class RemovalClock: Sendable {
    private let time = Mutex<Date?>(nil)

    var latest: Date? { self.time.withLock { $0 } }

    /// Records a deletion. This must be called before the deletion is committed, so that no reader
    /// sees the deletion without its time.
    func record(_ now: Date) { self.time.withLock { $0 = max($0 ?? now, now) } }
}
