package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func dismiss(
        _ id: NotificationID,
        by user: Int64,
        ifStill mark: ReadMark?,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        try await self.write(by: record) { [writer, changes] db in
            try db.execute(
                literal: """
                    update recipient set dismissed_at = \(now.milliseconds), change = \(changes.next()),
                        changed_at = \(now.milliseconds)
                    where notification_id = \(id.rawValue) and user_id = \(user) and dismissed_at is null
                        and coalesce(\(mark.map { $0 == .read }) = (read_at is not null), true)
                        and exists (select 1 from notification
                            where id = \(id.rawValue) and expires_at > \(now.milliseconds) and payload is not null)
                    """
            )
            guard db.changesCount == 1 else { return false }
            try Self.cancel(db, id, of: user, reason: PushReason.dismissed, now: now)
            if try Self.recordTaken(db, id.rawValue, by: user) { writer.recordErasure() }
            return true
        }
    }

    static func cancel(
        _ db: Database,
        _ id: NotificationID,
        of user: Int64,
        reason: String,
        now: Date
    ) throws {
        try Self.cancel(
            db,
            where: """
                notification_id = \(id.rawValue)
                and device in (select number from device where user_id = \(user))
                """,
            reason: reason,
            now: now
        )
    }

    // MARK: Recall

    package func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        recording record: AuditRecord?,
        page: Int?,
        now: Date
    ) async throws -> Bool {
        let condition: SQL
        switch recaller {
        case .sender(let user): condition = "sender_id = \(user)"
        case .scheduler(let user):
            condition = "sender_id = \(user) and id in (select notification_id from scheduled)"
        case .administrator: condition = "true"
        }
        return try await self.write(by: record) { [writer, changes] db in
            try db.execute(
                literal: """
                    update notification set payload = null, alert = null, recalled_at = \(now.milliseconds)
                    where id = \(id.rawValue) and expires_at > \(now.milliseconds) and recalled_at is null
                        and payload is not null and \(condition)
                    """
            )
            guard db.changesCount == 1 else { return false }
            try db.execute(literal: "delete from fanout where notification_id = \(id.rawValue)")
            try Self.unschedule(db, id.rawValue)
            try Self.recordRecall(db, id.rawValue, changes, page: page ?? Self.recallPage, now: now)
            writer.recordErasure()
            return true
        }
    }

    /// The largest number of recipients whose rows a recall changes one by one; for more, one note
    /// in the notification's row stands for all.
    static let recallPage = 1000

    private static func recordRecall(
        _ db: Database,
        _ id: Int64,
        _ changes: ChangeNumbers,
        page: Int,
        now: Date
    ) throws {
        let change = changes.next()
        let count = try Int.fetchOne(
            db,
            sql: "select count(*) from (select 1 from recipient where notification_id = ? limit ?)",
            arguments: [id, page + 1]
        )
        if let count, count > page {
            try db.execute(sql: "update notification set recall_change = ? where id = ?", arguments: [change, id])
            return
        }
        // A user who has dismissed it already knows that it is gone.
        try db.execute(
            sql: """
                update recipient set change = ?, changed_at = ? where notification_id = ? and dismissed_at is null
                """,
            arguments: [change, now.milliseconds, id]
        )
    }

    package func cancelRecalled(
        _ id: NotificationID,
        after device: Int64,
        page: Int?,
        now: Date
    ) async throws -> Int64? {
        let page = page ?? Self.fanoutPage
        return try await self.writer.write(.housekeeping) { db in
            let last = try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        select device from delivery where notification_id = ? and device > ?
                        order by device limit 1 offset ?
                        """
                ),
                arguments: [id.rawValue, device, page - 1]
            )
            try Self.cancel(
                db,
                where: "notification_id = \(id.rawValue) and device > \(device) and device <= \(last ?? .max)",
                reason: PushReason.recalled,
                now: now
            )
            return last
        }
    }
}
