package import Foundation
internal import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func releaseScheduled(limit: Int?, now: Date) async throws -> Release {
        let (pusher, limit) = (self.pusher, limit ?? Release.limit)
        return try await self.writer.write(.delivery) { [writer] db in
            var release = Release()
            var senders: [Int64: SenderRight] = [:]
            var pushes = 0
            let due = try db.all(SQL(sql: Self.due), now.milliseconds, limit) { try StoredTarget($0) }
            for scheduled in due where pushes < Release.pushes {
                let audience: HashedAudience
                do {
                    audience = try scheduled.audience(pusher.sealing, pusher.tags, in: .scheduled(scheduled.id))
                } catch {
                    try db.run("update scheduled set is_set_aside = 1 where notification_id = \(scheduled.id)")
                    writer.condition.record(.scheduled(notification: scheduled.id))
                    continue
                }
                try db.run("delete from scheduled where notification_id = \(scheduled.id)")
                writer.recordErasure()
                guard scheduled.isWanted(now), let id = NotificationID(rawValue: scheduled.id) else { continue }
                let right = try senders[scheduled.sender] ?? Self.right(of: scheduled.sender, db)
                senders[scheduled.sender] = right
                guard right.covers(audience) else {
                    try Self.recallUnsent(db, scheduled.id, now: now)
                    release.refused.append(id)
                    continue
                }
                let target = scheduled.target(to: audience, sequence: pusher.changes.next())
                let made = try pusher.send(target, db, now: now)
                release.sent.append(id)
                release.hasWork = release.hasWork || made.hasWork
                pushes += made.reach.pushes
            }
            release.nextDue = try Self.nextRelease(db)
            return release
        }
    }

    static let due = """
        select \(StoredTarget.Column.list) from scheduled t cross join notification n on n.id = t.notification_id
        where t.is_set_aside = 0 and t.due_at <= ? order by t.due_at, t.sequence limit ?
        """

    /// The time when the next notification is due; `nil` if no notification is scheduled.
    static func nextRelease(_ db: Database) throws -> Date? {
        try db.first(SQL(sql: Self.firstDue)) { try $0.date() }
    }

    static let firstDue = "select due_at from scheduled where is_set_aside = 0 order by due_at limit 1"

    private static func right(of sender: Int64, _ db: Database) throws -> SenderRight {
        try db.first("select role, name_key, apps from account where id = \(sender) and disabled_at is null") { row in
            let apps = try Set(storedApps: row.optionalText("apps"))
            return try SenderRight(role: row.text("role"), key: row.data("name_key"), apps: apps)
        } ?? .nothing
    }

    /// Recalls a scheduled notification that was never sent.
    private static func recallUnsent(_ db: Database, _ id: Int64, now: Date) throws {
        try db.run(
            "update notification set payload = null, alert = null, recalled_at = \(now.milliseconds) where id = \(id)"
        )
    }
}

extension Pusher {
    func schedule(_ notification: NewNotification, at dueAt: Date, sequence: Int64, _ db: Database) throws {
        let (audience, id) = (notification.audience.audience, notification.id.rawValue)
        let expressions = try self.sealing.seal(audience.expressions.map(\.description), in: .scheduled(id))
        try db.run(
            """
            insert into scheduled (notification_id, due_at, sequence, expressions, platforms)
            values (\(id), \(dueAt.milliseconds), \(sequence), \(expressions), \(audience.platformNames))
            """
        )
    }

    /// Sends a scheduled notification in the same way as a post that is made now.
    fileprivate func send(_ target: PushTarget, _ db: Database, now: Date) throws -> (reach: Reach, hasWork: Bool) {
        try db.run(
            """
            update notification set sequence = \(target.sequence), created_at = \(now.milliseconds)
            where id = \(target.id)
            """
        )
        var (recipients, search) = (Set<Int64>(), PostSearch(db, now: now))
        for user in target.audience.users {
            let named = try search.user(withKey: user.key)
            guard let id = named?.id(in: target.audience.audience.app) else { continue }
            if try self.addRecipient(id, of: target, change: target.sequence, db, now: now) { recipients.insert(id) }
        }
        return try self.enqueue(target, besides: recipients, page: AudienceWalk.page, db, now: now)
    }
}

extension SQLiteReader {
    package static let sendTime = "select due_at from scheduled where notification_id = ? and is_set_aside = 0"

    package func schedule(countingAtMost limit: Int) throws(StoreError) -> Schedule {
        try self.read { db in
            Schedule(
                count: Int(try db.number("select count(*) from (select 1 from scheduled limit \(limit))") ?? 0),
                firstDue: try SQLiteStore.nextRelease(db)
            )
        }
    }
}
