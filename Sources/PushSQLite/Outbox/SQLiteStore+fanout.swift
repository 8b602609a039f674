package import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    package func expandFanout(page: Int?, now: Date) async throws -> Int? {
        let (pusher, page) = (self.pusher, page ?? AudienceWalk.step)
        return try await self.writer.write(.housekeeping) { [writer] db in
            guard let id = try Self.oldestFanout(db) else { return nil }
            let broadcast: RunningBroadcast?
            do {
                broadcast = try RunningBroadcast(db, id, by: pusher)
            } catch  where !(error is DatabaseError) {
                try db.run(prepared: "update fanout set is_set_aside = 1 where notification_id = ?", id)
                writer.recordSetAside(.broadcast(notification: id))
                return 0
            }
            guard var broadcast, broadcast.isWanted(now) else {
                try Self.endFanout(db, id)
                writer.recordErasure()
                return 0
            }
            var pushes = PushInsertion(broadcast.target, by: pusher, isBulk: true, now: now)
            let (found, isLast) = try broadcast.walk.take(page, of: broadcast.target.audience, db)
            try pushes.insert(found, db)
            if isLast {
                try Self.endFanout(db, id)
                // All recipients may have taken the payload before the broadcast ended.
                if broadcast.target.isReadOnce { try Self.eraseIfTaken(db, id) }
                writer.recordErasure()
            } else {
                try db.run(
                    prepared: "update fanout set branch = ?, cursor = ? where notification_id = ?",
                    broadcast.walk.branch,
                    broadcast.walk.cursor,
                    id
                )
            }
            return pushes.count
        }
    }

    /// Enqueues a new notification's pushes: all of them, or the first page and a row for the
    /// rest.
    ///
    /// `recipients` are the users who have become recipients in this transaction. Returns how many
    /// users and pushes there are, and whether the delivery has work now.
    static func enqueue(
        _ db: Database,
        _ target: PushTarget,
        besides recipients: Set<Int64>,
        by pusher: Pusher,
        page: Int,
        now: Date
    ) throws -> (reach: Reach, hasWork: Bool) {
        var walk = AudienceWalk()
        var (found, isLast) = try walk.take(page, of: target.audience, db)
        // A small audience may still have several branches; the usual audience ends with its first
        // page, and is not counted.
        let isBulk = try !isLast && target.audience.isLarger(than: page, db)
        var pushes = PushInsertion(target, by: pusher, isBulk: isBulk, newRecipients: recipients, now: now)
        try pushes.insert(found, db)
        while !isLast && !isBulk {
            (found, isLast) = try walk.take(page, of: target.audience, db)
            try pushes.insert(found, db)
        }
        if !isLast { try RunningBroadcast(target: target, walk: walk).insert(db, pusher.sealing) }
        let reach = Reach(recipients: pushes.recipientCount, pushes: pushes.count, isComplete: isLast)
        return (reach, pushes.dueCount > 0 || !isLast)
    }

    private static func oldestFanout(_ db: Database) throws -> Int64? {
        // Few broadcasts run at a time.
        try db.first(
            prepared: """
                select f.notification_id from fanout f join notification n on n.id = f.notification_id
                where not f.is_set_aside order by n.sequence, n.created_at limit 1
                """
        ) { $0.integer(0) }
    }

    private static func endFanout(_ db: Database, _ id: Int64) throws {
        try db.run(prepared: "delete from fanout where notification_id = ?", id)
    }
}
