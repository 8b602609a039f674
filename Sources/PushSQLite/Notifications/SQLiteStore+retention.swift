package import Foundation
internal import PushStore
internal import SQLite

extension SQLiteStore {
    package func deleteExpired(now: Date, page: Int) async throws -> Bool {
        try await self.writer.write(.housekeeping) { [writer, removals] db in
            let expired = try db.all(prepared: Self.expired, now.milliseconds, page) { $0.integer(0) }
            if !expired.isEmpty {
                writer.recordErasure()
                removals.record(now)
            }
            var left = page
            for id in expired {
                left -= try Self.delete(db, id, atMost: left)
                if left <= 0 { return true }
            }
            return expired.count == page
        }
    }

    static let expired = "select id from notification where expires_at <= ? order by expires_at limit ?"

    /// Deletes a notification's rows, at most `limit`, and itself after the last; returns the
    /// number of deleted rows.
    private static func delete(_ db: Database, _ id: Int64, atMost limit: Int) throws -> Int {
        // The fan-out is deleted first, so that no further device gets the notification.
        try db.run(prepared: "delete from fanout where notification_id = ?", id)
        let rows = try db.all(
            prepared: """
                delete from delivery where notification_id = ?1 and device in (
                    select device from delivery where notification_id = ?1 order by device limit ?2)
                returning lane, settled_at, device
                """,
            id,
            limit
        ) { (lane: $0.text(0), isSettled: !$0.isNull(1), device: $0.integer(2)) }
        var tally = TallyCount()
        // The query does not test this: in SQLite 3.40, `is null` is never true in the columns
        // that a DELETE returns.
        for row in rows where !row.isSettled { tally.add(.expired, lane: row.lane) }
        try tally.write(db)
        try Self.forgetCollapsing(db, id, devices: rows.map(\.device))
        if rows.count == limit { return limit }
        let recipients = try db.run(
            prepared: """
                delete from recipient where notification_id = ?1 and user_id in (
                    select user_id from recipient where notification_id = ?1 order by user_id limit ?2)
                """,
            id,
            limit - rows.count
        )
        if rows.count + recipients == limit { return limit }
        try db.run(prepared: "delete from notification where id = ?", id)
        return rows.count + recipients + 1
    }

    /// Deletes the rows in which a notification is the newest of its collapse key for these
    /// devices.
    private static func forgetCollapsing(_ db: Database, _ id: Int64, devices: [Int64]) throws {
        let key = try db.first(
            prepared: "select collapse_id from notification where id = ? and collapse_id is not null",
            id
        ) { $0.text(0) }
        guard let key else { return }
        for device in devices {
            try db.run(
                prepared: "delete from collapse where device = ? and collapse_id = ? and notification_id = ?",
                device,
                key,
                id
            )
        }
    }
}
