package import Foundation
internal import GRDB
internal import PushCore

/// How far the walk along an audience has come, which is all that a crash may not forget.
private struct Walk {
    /// Which of the audience's branches.
    var branch = 0
    /// The last device that it has come to.
    var cursor: Int64 = 0
}

extension Store {
    /// Devices looked at in one transaction: few enough that nobody behind it waits long.
    package static let fanoutPage = 1000

    /// Takes a running broadcast one page further; `nil` if there is none, else how many pushes that made.
    package func expandFanout(page: Int = Store.fanoutPage, now: Date) async throws -> Int? {
        try await self.writer.write { [writer, sealing, changes] db in
            let row = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        select f.*, n.created_at, n.expires_at, n.recalled_at, n.collapse_id, n.is_read_once
                        from fanout f join notification n on n.id = f.notification_id
                        order by n.created_at limit 1
                        """
                )
            )
            guard let row else { return nil }
            let id: Int64 = try row["notification_id"]
            guard row["recalled_at"] == nil, try row["expires_at"] > now.milliseconds else {
                try Self.endFanout(db, id)
                writer.noteErasure()
                return 0
            }
            let target = try Target(
                id: id,
                createdAt: row["created_at"],
                collapseID: row["collapse_id"],
                isReadOnce: row["is_read_once"],
                audience: Self.audience(of: row, sealing)
            )
            var walk = try Walk(branch: row["branch"], cursor: row["cursor"])
            // Otherwise the row is damaged, and nobody knows whom the rest of the broadcast is for.
            guard (0..<(target.audience.branches?.count ?? 1)).contains(walk.branch) else {
                try Self.endFanout(db, id)
                return 0
            }
            let step = Step(index: sealing.index, changes: changes, page: page, isBulk: true, now: now)
            let made = try Self.takePage(db, target, &walk, step)
            if made.isLast {
                try Self.endFanout(db, id)
                // Those who were there before may all have been given it.
                if target.isReadOnce { try Self.eraseIfTaken(db, id) }
                writer.noteErasure()
            } else {
                try db.cachedStatement(sql: "update fanout set branch = ?, cursor = ? where notification_id = ?")
                    .execute(arguments: [walk.branch, walk.cursor, id])
            }
            return made.pushes
        }
    }

    /// Enqueues a new notification's pushes: all of them, or the first page and a row for the rest.
    static func enqueue(
        _ db: Database,
        _ notification: NewNotification,
        _ sealing: Sealing,
        _ changes: ChangeNumbers,
        page: Int
    ) throws -> Int {
        let target = Target(
            id: notification.id.rawValue,
            createdAt: notification.createdAt.milliseconds,
            collapseID: notification.collapseID,
            isReadOnce: notification.isReadOnce,
            audience: notification.audience
        )
        let isBulk = try Self.isLarger(db, target.audience, sealing.index, than: page)
        let step = Step(
            index: sealing.index,
            changes: changes,
            page: page,
            isBulk: isBulk,
            now: notification.createdAt
        )
        var walk = Walk()
        var pushes = 0
        while true {
            let made = try Self.takePage(db, target, &walk, step)
            pushes += made.pushes
            if made.isLast { return pushes }
            // A small audience may still have several branches.
            if isBulk { break }
        }
        try db.execute(
            sql: "insert into fanout (notification_id, expressions, platforms, branch, cursor) values (?, ?, ?, ?, ?)",
            arguments: [
                target.id,
                try sealing.seal(target.audience.expressions.map(\.description), in: .expressions(target.id)),
                try target.audience.platforms.map { try Self.json($0.map(\.description).sorted()) },
                walk.branch, walk.cursor,
            ]
        )
        return pushes
    }

    // MARK: - Private

    private struct Target {
        let id: Int64
        let createdAt: Int64
        let collapseID: String?
        let isReadOnce: Bool
        let audience: Audience
    }

    /// How a page of the walk is taken.
    private struct Step {
        let index: BlindIndex
        let changes: ChangeNumbers
        let page: Int
        let isBulk: Bool
        let now: Date
    }

    private static func isLarger(
        _ db: Database,
        _ audience: Audience,
        _ index: BlindIndex,
        than page: Int
    ) throws -> Bool {
        if case .device = audience.aim { return false }
        let count: Int?
        if let branches = audience.branches {
            count = try SQLRequest<Int>(
                """
                select count(*) from (
                    select 1 from device_tag where tag in \(branches.map(index.hash)) limit \(page + 1))
                """
            ).fetchOne(db)
        } else {
            count = try SQLRequest<Int>("select count(*) from (select 1 from device limit \(page + 1))").fetchOne(db)
        }
        return (count ?? 0) > page
    }

    /// Looks at the next devices, makes recipients and pushes of those that are meant, and moves the walk past them.
    private static func takePage(
        _ db: Database,
        _ target: Target,
        _ walk: inout Walk,
        _ step: Step
    ) throws -> (pushes: Int, isLast: Bool) {
        let branches = target.audience.branches
        let inPage: SQL
        var isLast: Bool
        if case .device = target.audience.aim {
            (inPage, isLast) = ("true", true)
        } else {
            let start = walk.cursor
            let tag = branches.map { step.index.hash($0[walk.branch]) }
            let end = try self.end(db, of: tag, from: start, page: step.page)
            if let tag {
                inPage = """
                    d.number in (select device from device_tag
                        where tag = \(tag) and device > \(start) and device <= \(end ?? .max))
                    """
            } else {
                inPage = "d.number > \(start) and d.number <= \(end ?? .max)"
            }
            walk.cursor = end ?? 0
            if end == nil { walk.branch += 1 }
            isLast = end == nil && walk.branch >= branches?.count ?? 1
        }
        return (try self.insert(db, target, inPage, step), isLast)
    }

    /// The last device of a page; `nil` if the rest is no more than one.
    private static func end(_ db: Database, of tag: Data?, from start: Int64, page: Int) throws -> Int64? {
        let sql =
            tag == nil
            ? "select number from device where number > ?2 and ?1 is null order by number limit 1 offset ?3"
            : "select device from device_tag where tag = ?1 and device > ?2 order by device limit 1 offset ?3"
        return try Int64.fetchOne(db.cachedStatement(sql: sql), arguments: [tag, start, page - 1])
    }

    private static func insert(
        _ db: Database,
        _ target: Target,
        _ inPage: SQL,
        _ step: Step
    ) throws -> Int {
        let condition: SQL = "\(inPage) and \(target.audience.condition(step.index))"
        let now = step.now
        let change = step.changes.next()
        // Not "or ignore", which would be silent about a number that a user has twice, too.
        try db.execute(
            literal: """
                insert into recipient (notification_id, user_id, change, changed_at, seal)
                select \(target.id), d.user_id, \(change), \(now.milliseconds), recipient_seal(\(target.id), d.user_id)
                from device d where \(condition) on conflict (notification_id, user_id) do nothing
                """
        )
        if target.isReadOnce { try Self.noteUntaken(db, target.id, change: change) }
        let isCurrent: SQL =
            target.collapseID.map { id in
                // Not behind a newer one of the same key that has passed this broadcast.
                """
                not exists (select 1 from notification m join delivery x on x.notification_id = m.id
                    where m.collapse_id = \(id) and m.created_at > \(target.createdAt) and x.device = d.number)
                """
            } ?? "true"
        let pushes = try self.count(
            .enqueued,
            db,
            """
            insert or ignore into delivery (notification_id, device, user_id, lane, is_bulk, state, due_at)
            select \(target.id), d.number, d.user_id, d.lane, \(step.isBulk), 'queued', \(now.milliseconds)
            from device d where \(condition) and \(isCurrent)
                and not exists (select 1 from recipient r where r.notification_id = \(target.id)
                    and r.user_id = d.user_id and r.dismissed_at is not null)
            returning lane
            """
        )
        if let id = target.collapseID {
            try self.cancel(
                db,
                where: """
                    notification_id in (select id from notification
                        where collapse_id = \(id) and id <> \(target.id) and created_at <= \(target.createdAt))
                    and device in (select d.number from device d
                        where \(inPage) and exists (select 1 from delivery x
                            where x.notification_id = \(target.id) and x.device = d.number))
                    """,
                reason: "a newer one took its place",
                now: now
            )
        }
        return pushes
    }

    private static func endFanout(_ db: Database, _ id: Int64) throws {
        try db.cachedStatement(sql: "delete from fanout where notification_id = ?").execute(arguments: [id])
    }

    private static func json(_ texts: [String]) throws -> String {
        String(decoding: try JSONEncoder().encode(texts), as: UTF8.self)
    }

    private static func audience(of row: Row, _ sealing: Sealing) throws -> Audience {
        let expressions = try sealing.texts(row["expressions"], in: .expressions(row["notification_id"]))
        let platforms = try (row["platforms"] as String?).map {
            try JSONDecoder().decode([String].self, from: Data($0.utf8))
        }
        return Audience(
            try expressions.map { try TagExpression($0) },
            platforms: platforms.map { Set($0.map { Platform($0) }) }
        )
    }
}
