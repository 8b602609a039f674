package import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension PostgreSQLStore {
    package func deleteExpired(now: Date, page: Int) async throws -> Bool {
        let (progress, book) = (self.retentionProgress, self.options.lookBook)
        return try await self.write(.ordered) { tx in
            let expired = try await self.search(for: .notifications, at: now) { start in
                let rows = try await tx.query(Self.expired, start, now.milliseconds, page)
                return (try rows.map(ExpiredNotification.init), first: try rows.first?.integer("expires_at"))
            }
            if expired.isEmpty { return false }
            let notifications = Dictionary(expired.map { ($0.id, $0) }) { first, _ in first }
            let ids = notifications.keys.sorted()
            let rows = ExpiredRows(notifications: notifications, book: book, tx: tx)
            _ = try await tx.query(Self.deleteWork, ids)
            var left = page
            for table in RetentionProgress.Table.allCases {
                for part in progress.parts(of: ids, in: table) where left > 0 {
                    let keys = try await rows.delete(part, of: table, limit: left)
                    let last = keys.count < left ? nil : keys.max()
                    tx.afterCommit { progress.record(part.ids, in: table, upTo: last) }
                    left -= keys.count
                }
            }
            if left > 0 {
                let usage = try PostGroup.usage(await tx.query(Self.deleteNotifications, ids))
                try await tx.subtract(usage)
                tx.afterCommit { progress.forget(ids) }
            }
            _ = try await tx.query(Self.recordRemoval, now.milliseconds)
            return left <= 0 || expired.count == page
        }
    }

    /// Selects expired notifications. Skips locked rows, so that several servers delete different
    /// notifications.
    static let expired = """
        select id, sender_id, app, collapse_id, expires_at from notification where expires_at >= $1 and expires_at <= $2
        order by expires_at limit $3 for update skip locked
        """

    // MARK: - Private

    /// Searches for expired rows: `body` runs a statement that finds rows from the time `start`
    /// on, in milliseconds. The time of the first row found is recorded for the next search.
    func search<Value>(
        for rows: SearchMarks.Rows,
        at date: Date,
        _ body: (_ start: Int64) async throws -> (Value, first: Int64?)
    ) async throws -> Value {
        let search = self.marks.begin(rows, at: .now)
        do {
            let (value, first) = try await body(search.start)
            self.marks.end(search, first: first, at: .now)
            return value
        } catch DatabaseError.refused(code: "57014", let message) {
            self.marks.fail(search, date: date.milliseconds)
            throw DatabaseError.refused(code: "57014", message: message)
        }
    }

    /// Deletes the rows of unfinished work on notifications, so that no further device gets them.
    private static let deleteWork = """
        with f as (delete from fanout where notification_id = any($1::int8[])),
        s as (delete from scheduled where notification_id = any($1::int8[]))
        delete from recall where notification_id = any($1::int8[])
        """

    /// Deletes notifications that have no rows left in other tables.
    private static let deleteNotifications = """
        with d as (
            delete from notification where id = any($1::int8[]) returning sender_id, length(payload)::int8 as bytes)
        select sender_id as user_id, count(*) as notifications, coalesce(sum(bytes), 0)::int8 as bytes from d group by sender_id
        """

    /// Stores the time at which expired rows were last deleted (see `NotificationPage.removedAt`).
    ///
    /// This statement comes last, since all servers that delete expired rows wait for its row.
    private static let recordRemoval = """
        insert into removal (id, at) values (1, $1)
        on conflict (id) do update set at = greatest(removal.at, excluded.at)
        """
}

private struct ExpiredNotification {
    let id: Int64
    let sender: Int64
    let app: AppName
    let collapseID: String?
    let expiresAt: Date

    init(_ row: Row) throws {
        (self.id, self.sender) = (try row.integer("id"), try row.integer("sender_id"))
        self.app = AppName(stored: try row.optionalText("app"))
        (self.collapseID, self.expiresAt) = (try row.optionalText("collapse_id"), try row.date("expires_at"))
    }
}

/// Deletes the rows of expired notifications in one transaction, a page at a time.
private struct ExpiredRows {
    let notifications: [Int64: ExpiredNotification]
    let book: LookBook
    let tx: WriteTransaction

    private static let collapseKey = KeyLookup(columns: ["device", "collapse_id"])

    /// Deletes the next rows of expired notifications from a table, in the order of their keys;
    /// returns the keys of the deleted rows.
    func delete(
        _ part: RetentionProgress.Part,
        of table: RetentionProgress.Table,
        limit: Int
    ) async throws -> [DuePush] {
        if table == .recipients { return try await self.deleteRecipients(part, limit: limit) }
        let rows = try await self.tx.query(Self.deletion(from: table), part.ids, part.after, limit)
        if table == .pushes { try self.recordExpiry(of: rows) }
        let keys = try rows.map(DuePush.init)
        try await self.forgetCollapsing(keys)
        return keys
    }

    /// Counts deleted pushes without an outcome as expired.
    private func recordExpiry(of rows: Rows) throws {
        for row in rows {
            let lane = try row.text("lane")
            self.tx.count(.expired, lane: lane)
            guard self.tx.keeps(.expired), !Lane(stored: lane).isOfLooks,
                let notification = self.notifications[try row.integer("notification_id")]
            else { continue }
            self.tx.record(
                NewEvent(
                    kind: .expired,
                    at: notification.expiresAt,
                    notification: notification.id,
                    device: try row.integer("device"),
                    user: try row.integer("user_id"),
                    lane: lane,
                    sender: notification.sender,
                    reason: try row.optionalText("reason")
                )
            )
        }
    }

    /// Deletes the next rows of notifications from a table of pushes, in the order of their keys.
    private static func deletion(from table: RetentionProgress.Table) -> String {
        """
        with l as (
            select notification_id, device from \(table.rawValue) where notification_id = any($1::int8[]) and device > $2
            order by notification_id, device limit $3 for update)
        delete from \(table.rawValue) p using l where \(DuePush.equal("p", "l"))
        returning p.notification_id, p.device\(table == .pushes ? ", p.user_id, p.lane, p.reason" : "")
        """
    }

    /// Deletes the rows which say that a notification is the newest one with its collapse key for
    /// these devices.
    private func forgetCollapsing(_ pushes: [DuePush]) async throws {
        let collapsing = pushes.compactMap { push in
            self.notifications[push.notification]?.collapseID.map { (push: push, key: $0) }
        }
        if collapsing.isEmpty { return }
        _ = try await self.tx.query(
            """
            delete from collapse c using unnest($1::int8[], $2::text[], $3::int8[]) as t (device, collapse_id, id)
            where \(Self.collapseKey.condition("c", "t")) and c.notification_id = t.id
            """,
            collapsing.map(\.push.device),
            collapsing.map(\.key),
            collapsing.map(\.push.notification)
        )
    }

    /// Records each recipient who has neither read nor dismissed the notification: the recipient's
    /// devices may still show it.
    private func deleteRecipients(_ part: RetentionProgress.Part, limit: Int) async throws -> [DuePush] {
        try await self.tx.query(Self.recipientDeletion, part.ids, part.after, limit).map { row in
            let (id, user) = (try row.integer("notification_id"), try row.integer("user_id"))
            if try row.flag("is_open"), let app = self.notifications[id]?.app {
                self.tx.afterCommit { [book] in book.record(LookOrder(user: user, app: app)) }
            }
            return DuePush(notification: id, device: user)
        }
    }

    private static let recipientDeletion = """
        with l as (
            select notification_id, user_id from recipient where notification_id = any($1::int8[]) and user_id > $2
            order by notification_id, user_id limit $3 for update),
        w as (
            delete from untaken w using l
            where \(RecipientKey.lookup.condition("w", "l")))
        delete from recipient r using l where \(RecipientKey.lookup.condition("r", "l"))
        returning r.notification_id, r.user_id, r.read_at is null and r.dismissed_at is null as is_open
        """
}
