package import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    package func expandFanout(page: Int?, now: Date) async throws -> Int? {
        let (pusher, page) = (self.pusher, page ?? AudienceWalk.step)
        return try await self.writer.write(.housekeeping) { [writer] db in
            guard var broadcast = try Self.oldestBroadcast(db) else { return nil }
            let id = broadcast.notification.id
            guard broadcast.notification.isWanted(now) else {
                try db.run("delete from fanout where notification_id = \(id)")
                writer.recordErasure()
                return 0
            }
            let target: PushTarget
            do {
                target = try broadcast.target(pusher.sealing, pusher.tags)
            } catch {
                try db.run("update fanout set is_set_aside = 1 where notification_id = ?", id)
                writer.condition.record(.broadcast(notification: id))
                return 0
            }
            var pushes = PushInsertion(target, by: pusher, isBulk: true, now: now)
            let (found, isLast) = try broadcast.walk.take(page, of: target.audience, db)
            try pushes.insert(found, db)
            if isLast {
                try db.run("delete from fanout where notification_id = \(id)")
                // A payload is not erased while its broadcast runs, even if all recipients so far
                // have collected it.
                if target.isReadOnce { try self.eraseIfTaken(id, db) }
                writer.recordErasure()
            } else {
                let (branch, cursor) = (broadcast.walk.branch, broadcast.walk.cursor)
                try db.run("update fanout set branch = \(branch), cursor = \(cursor) where notification_id = \(id)")
            }
            return pushes.count
        }
    }

    private static func oldestBroadcast(_ db: Database) throws -> RunningBroadcast? {
        // The query needs no index, since only few broadcasts run at the same time.
        try db.first(
            """
            select \(sql: RunningBroadcast.columns) from fanout t join notification n on n.id = t.notification_id
            where not t.is_set_aside order by n.sequence, n.created_at limit 1
            """
        ) { try RunningBroadcast($0) }
    }
}

extension Pusher {
    /// Enqueues the pushes of a new notification. If there are many, enqueues only the first page,
    /// and inserts a row into `fanout`: the other pages follow later.
    ///
    /// `recipients` are the users who have become recipients in this transaction. Returns the
    /// number of users and pushes. Also returns whether pushes are due now, or other pages follow.
    func enqueue(
        _ target: PushTarget,
        besides recipients: Set<Int64>,
        page: Int,
        _ db: Database,
        now: Date
    ) throws -> (reach: Reach, hasWork: Bool) {
        var walk = AudienceWalk()
        var (found, isLast) = try walk.take(page, of: target.audience, db)
        // An audience that does not end with its first page may still be small, because it may
        // have several branches. So its devices and users are counted.
        let isBulk = try !isLast && target.audience.isLarger(than: page, db)
        var pushes = PushInsertion(target, by: self, isBulk: isBulk, newRecipients: recipients, now: now)
        try pushes.insert(found, db)
        while !isLast && !isBulk {
            (found, isLast) = try walk.take(page, of: target.audience, db)
            try pushes.insert(found, db)
        }
        if !isLast { try self.insertFanout(of: target, from: walk, db) }
        let reach = Reach(recipients: pushes.recipientCount, pushes: pushes.count, isComplete: isLast)
        return (reach, pushes.dueCount > 0 || !isLast)
    }

    /// Inserts the row of a fan-out, with the position at which the walk over the audience
    /// continues.
    private func insertFanout(of target: PushTarget, from walk: AudienceWalk, _ db: Database) throws {
        let audience = target.audience.audience
        let expressions = try self.sealing.seal(audience.expressions.map(\.description), in: .expressions(target.id))
        try db.run(
            """
            insert into fanout (notification_id, expressions, platforms, branch, cursor)
            values (\(target.id), \(expressions), \(audience.platformNames), \(walk.branch), \(walk.cursor))
            """
        )
    }
}
