package import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension PostgreSQLStore {
    package func expandFanout(page: Int?, now: Date) async throws -> Int? {
        let (page, sealing, tags) = (page ?? AudienceWalk.step, self.sealing, self.options.tags)
        return try await self.write { tx in
            if try await Self.continueRecalls(tx, page: AudienceWalk.step) { return 0 }
            guard let row = try await tx.query(Self.oldestBroadcast).first else { return nil }
            var broadcast = try RunningBroadcast(row)
            let id = broadcast.notification.id
            guard broadcast.notification.isWanted(now) else {
                _ = try await tx.query(Self.endFanout, id)
                return 0
            }
            let target: PushTarget
            do {
                target = try broadcast.target(sealing, tags)
            } catch {
                _ = try await tx.query("update fanout set is_set_aside = true where notification_id = $1", id)
                tx.afterCommit { self.condition.shared.record(.broadcast(notification: id)) }
                return 0
            }
            var pushes = PushInsertion(target, isBulk: true, tx, now: now)
            let found = try await AudiencePages(target.audience, tx).take(page, at: &broadcast.walk)
            try await pushes.insert(found.rows)
            if found.isLast {
                _ = try await tx.query(Self.endFanout, id)
                // All recipients may have collected the read-once payload before the broadcast
                // ended.
                if target.isReadOnce { try await tx.eraseIfTaken([id]) }
            } else {
                _ = try await tx.query(Self.moveFanout, id, broadcast.walk.branch, broadcast.walk.cursor)
            }
            return pushes.count
        }
    }

    /// Selects and locks the oldest broadcast, except those that other processes are expanding. It
    /// needs no index, since only few broadcasts run at the same time.
    static let oldestBroadcast = """
        select \(RunningBroadcast.columns) from fanout t join notification n on n.id = t.notification_id
        where not t.is_set_aside order by n.sequence, n.created_at limit 1 for update of t skip locked
        """
    private static let moveFanout = "update fanout set branch = $2, cursor = $3 where notification_id = $1"
    private static let endFanout = "delete from fanout where notification_id = $1"

    static func number(of user: Int64, in numbers: [Int64: Int64]) throws -> Int64 {
        guard let number = numbers[user] else { throw StoreError.failed(reason: "user \(user) has no change number") }
        return number
    }
}

extension WriteTransaction {
    /// Enqueues the pushes of a new notification. If there are many, enqueues only the first page,
    /// and inserts a row so that the fan-out continues later.
    ///
    /// `recipients` are the users whom this transaction has made recipients. Returns the number of
    /// users and pushes. Also returns whether the delivery has work now: due pushes, or further
    /// pages.
    func enqueue(
        _ target: PushTarget,
        besides recipients: Set<Int64>,
        page: Int,
        now: Date
    ) async throws -> (reach: Reach, hasWork: Bool) {
        let pages = AudiencePages(target.audience, self)
        var walk = AudienceWalk()
        var found = try await pages.take(page, at: &walk)
        // An audience that does not end with its first page may still be small, since it may have
        // several branches. So it is counted, unless the first page's branch has more rows.
        let isBulk =
            if found.isLast || found.hasMore { !found.isLast } else { try await pages.isLarger(than: page) }
        var pushes = PushInsertion(target, isBulk: isBulk, newRecipients: recipients, self, now: now)
        try await pushes.insert(found.rows)
        while !found.isLast, !isBulk {
            found = try await pages.take(page, at: &walk)
            try await pushes.insert(found.rows)
        }
        if !found.isLast {
            let audience = target.audience.audience
            let expressions = audience.expressions.map(\.description)
            let sealed = try self.sealing.seal(expressions, in: .expressions(target.id), until: target.expiresAt)
            let platforms = try audience.platformNames
            _ = try await self.query(Self.insertFanout, target.id, sealed, platforms, walk.branch, walk.cursor)
        }
        let reach = Reach(recipients: pushes.recipientCount, pushes: pushes.count, isComplete: found.isLast)
        return (reach, pushes.dueCount > 0 || !found.isLast)
    }

    /// Inserts the row of a fan-out, with the position at which the walk over the audience
    /// continues.
    private static let insertFanout = """
        insert into fanout (notification_id, expressions, platforms, branch, cursor) values ($1, $2, $3, $4, $5)
        """

    /// Makes users recipients of a notification, and gives each recipient the user's next change
    /// number. Returns the new recipients.
    ///
    /// Leaves out users who were deleted meanwhile: a deletion and this transaction both lock the
    /// user's account, so they run one after the other.
    func insertRecipients(users: [Int64], of target: PushTarget, now: Date) async throws -> Set<Int64> {
        if users.isEmpty { return [] }
        let new = try await self.query(Self.newRecipients, users, target.id, target.isForAll).map { try $0.integer() }
        if new.isEmpty { return [] }
        let numbers = try await self.changes(ofUsers: new)
        let rows = try await self.query(
            """
            with r as (
                insert into recipient (notification_id, user_id, change, changed_at, mac)
                select $1, t.user_id, t.change, $2, t.mac
                from unnest($3::int8[], $4::int8[], $5::int8[]) as t (user_id, change, mac)
                on conflict (notification_id, user_id) do nothing returning user_id),
            u as (
                insert into untaken (notification_id, user_id) select $1, r.user_id from r where $6
                on conflict (notification_id, user_id) do nothing)
            select user_id from r
            """,
            target.id,
            now.milliseconds,
            new,
            try new.map { try PostgreSQLStore.number(of: $0, in: numbers) },
            new.map { self.sealing.rows.recipient(of: target.id, user: $0) },
            target.isReadOnce
        )
        return Set(try rows.map { try $0.integer() })
    }

    /// Selects those users in `$1` who may get the payload of the notification `$2` and are not
    /// its recipients yet. Locks them against deletion, in the order of their ids.
    ///
    /// Each recipient is looked up by the whole key. With a join, the planner might read all
    /// recipients of a broadcast for each page.
    static let newRecipients = """
        select a.id from account a where a.id = any($1::int8[]) and ($3::boolean or not a.requires_encryption)
            and (select r.user_id from recipient r where r.notification_id = $2 and r.user_id = a.id) is null
        order by a.id for key share of a
        """
}
