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
        try await self.write(by: record) { db in
            let state = try Self.state(of: id, for: user, db, now: now)
            guard let state, state.mayDismiss(ifStill: mark) else { return false }
            try self.hide(id, from: user, reason: PushReason.dismissed, db, now: now)
            if state.isReadOnce { try self.recordTaken(id.rawValue, by: user, db) }
            return true
        }
    }

    static func state(of id: NotificationID, for user: Int64, _ db: Database, now: Date) throws -> RecipientState? {
        try db.first(SQL(sql: Self.state), id.rawValue, user, now.milliseconds, decode: RecipientState.init)
    }

    private static let state = """
        select \(RecipientState.Column.list)
        from notification n cross join recipient r on r.notification_id = n.id and r.user_id = ?2
        left join untaken w on w.notification_id = n.id and w.user_id = ?2
        where n.id = ?1 and n.expires_at > ?3
        """

    /// Dismisses a notification for a recipient who sees it, and cancels its pushes to that user.
    /// If the notification was recalled or has expired meanwhile, the user sees the recall or the
    /// expiry, not the dismissal.
    func hide(_ id: NotificationID, from user: Int64, reason: String, _ db: Database, now: Date) throws {
        let hidden = try db.run(
            """
            update recipient set dismissed_at = \(now.milliseconds), change = \(self.changes.next()),
                changed_at = \(now.milliseconds)
            where notification_id = \(id.rawValue) and user_id = \(user) and dismissed_at is null and exists (
                select 1 from notification
                where id = \(id.rawValue) and expires_at > \(now.milliseconds) and payload is not null)
            """
        )
        if hidden == 0 { return }
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
        try await self.write(by: record) { [writer, pusher] db in
            let found = try db.first(
                """
                select sender_id, app, exists (select 1 from scheduled where notification_id = id) as scheduled
                from notification where id = \(id.rawValue) and expires_at > \(now.milliseconds)
                    and recalled_at is null and payload is not null
                """
            ) { try (sender: $0.integer("sender_id"), isScheduled: $0.flag("scheduled"), app: $0.optionalText("app")) }
            guard let found, recaller.mayRecall(ofSender: found.sender, isScheduled: found.isScheduled) else {
                return false
            }
            let hasLooks = pusher.looks.keys.contains { Lane(stored: $0).app == AppName(stored: found.app) }
            try db.run(
                """
                update notification set payload = null, alert = null, recalled_at = \(now.milliseconds),
                    look_user_id = \(hasLooks ? Int64(0) : nil)
                where id = \(id.rawValue)
                """
            )
            try db.run("delete from fanout where notification_id = \(id.rawValue)")
            if found.isScheduled { try db.run("delete from scheduled where notification_id = \(id.rawValue)") }
            try self.recordRecall(of: id.rawValue, page: page ?? Self.recallPage, db, now: now)
            writer.recordErasure()
            return true
        }
    }

    /// The maximum number of recipients whose rows a recall changes one by one. If there are more,
    /// a single change number in the notification's row counts for all of them.
    static let recallPage = 1000

    private func recordRecall(of id: Int64, page: Int, _ db: Database, now: Date) throws {
        let change = self.changes.next()
        let count = try db.number(
            "select count(*) from (select 1 from recipient where notification_id = \(id) limit \(page + 1))"
        )
        if let count, count > page {
            try db.run("update notification set recall_change = \(change) where id = \(id)")
            return
        }
        // A user who has dismissed the notification already knows that it is gone.
        try db.run(
            """
            update recipient set change = \(change), changed_at = \(now.milliseconds)
            where notification_id = \(id) and dismissed_at is null
            """
        )
    }

    package func cancelRecalled(
        _ id: NotificationID,
        after device: Int64,
        page: Int?,
        now: Date
    ) async throws -> Int64? {
        let page = page ?? AudienceWalk.page
        return try await self.writer.write(.housekeeping) { db in
            let last = try db.number(
                """
                select device from push where notification_id = \(id.rawValue) and device > \(device)
                order by device limit 1 offset \(page - 1)
                """
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
