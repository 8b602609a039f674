package import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension PostgreSQLStore {
    package func expandFanout(page: Int?, now: Date) async throws -> Int? {
        let (page, sealing, tags) = (page ?? AudienceWalk.step, self.sealing, self.options.tags)
        return try await self.write { tx in
            if try await Self.continueRecalls(tx, page: AudienceWalk.step) { return 0 }
            guard var broadcast = try await RunningBroadcast(tx) else { return nil }
            guard broadcast.isWanted(now) else {
                try await broadcast.stop(tx)
                return 0
            }
            let target: PushTarget
            do {
                target = try broadcast.target(sealing, tags)
            } catch {
                let id = broadcast.id
                try await broadcast.setAside(tx)
                tx.afterCommit { self.condition.record(.broadcast(notification: id)) }
                return 0
            }
            var pushes = PushInsertion(target, isBulk: true, tx, now: now)
            let found = try await AudiencePages(target.audience).take(page, at: &broadcast.walk, tx)
            try await pushes.insert(found.rows)
            if found.isLast { try await broadcast.end(tx) } else { try await broadcast.save(tx) }
            return pushes.count
        }
    }

    /// Enqueues a new notification's pushes: all of them, or the first page and a row for the
    /// remaining ones.
    ///
    /// `recipients` are the users who became recipients in this transaction. Returns the number of
    /// users and pushes, and whether delivery has work now: due pushes, or further pages.
    static func enqueue(
        _ tx: WriteTransaction,
        _ target: PushTarget,
        besides recipients: Set<Int64>,
        page: Int,
        now: Date
    ) async throws -> (reach: Reach, hasWork: Bool) {
        let pages = AudiencePages(target.audience)
        var walk = AudienceWalk()
        var found = try await pages.take(page, at: &walk, tx)
        // A small audience may still have several branches; the usual one ends with its first
        // page, and is not counted.
        let isBulk =
            if found.isLast || found.hasMore { !found.isLast } else { try await pages.isLarger(than: page, tx) }
        var pushes = PushInsertion(target, isBulk: isBulk, newRecipients: recipients, tx, now: now)
        try await pushes.insert(found.rows)
        while !found.isLast, !isBulk {
            found = try await pages.take(page, at: &walk, tx)
            try await pushes.insert(found.rows)
        }
        if !found.isLast { try await RunningBroadcast.insert(target, from: walk, tx) }
        let reach = Reach(recipients: pushes.recipientCount, pushes: pushes.count, isComplete: found.isLast)
        return (reach, pushes.dueCount > 0 || !found.isLast)
    }
}
