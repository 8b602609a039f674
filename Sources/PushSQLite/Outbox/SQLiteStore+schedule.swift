package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    /// The number of notifications, and about the number of pushes, that one transaction sends:
    /// few enough that a waiting post does not notice.
    private static let (releaseLimit, releasePushes) = (100, 250)

    package func releaseScheduled(limit: Int?, now: Date) async throws -> Release {
        let (pusher, limit) = (self.pusher, limit ?? Self.releaseLimit)
        return try await self.writer.write(.delivery) { [writer] db in
            var release = Release()
            var senders: [Int64: SenderRight] = [:]
            var pushes = 0
            for scheduled in try ScheduledNotification.due(db, limit: limit, now: now) where pushes < Self.releasePushes
            {
                let target: PushTarget
                do {
                    target = try scheduled.target(sequence: pusher.changes.next(), by: pusher)
                } catch  where !(error is DatabaseError) {
                    try db.run(
                        prepared: "update scheduled set is_set_aside = 1 where notification_id = ?",
                        scheduled.id
                    )
                    writer.recordSetAside(.scheduled(notification: scheduled.id))
                    continue
                }
                try Self.unschedule(db, scheduled.id)
                writer.recordErasure()
                guard scheduled.isWanted(now), let id = NotificationID(rawValue: scheduled.id) else { continue }
                let right = try senders[scheduled.sender] ?? SenderRight(db, of: scheduled.sender)
                senders[scheduled.sender] = right
                guard right.covers(target.audience) else {
                    try Self.recallUnsent(db, scheduled.id, now: now)
                    release.refused.append(id)
                    continue
                }
                let made = try Self.send(target, by: pusher, db, now: now)
                release.sent.append(id)
                release.hasWork = release.hasWork || made.hasWork
                pushes += made.reach.pushes
            }
            release.nextDue = try ScheduledNotification.nextDue(db)
            return release
        }
    }

    /// Deletes the row of a scheduled notification, if there is one.
    static func unschedule(_ db: Database, _ id: Int64) throws {
        try db.run(prepared: "delete from scheduled where notification_id = ?", id)
    }

    /// Sends a scheduled notification as a post of this moment would be sent.
    private static func send(
        _ target: PushTarget,
        by pusher: Pusher,
        _ db: Database,
        now: Date
    ) throws -> (reach: Reach, hasWork: Bool) {
        try db.run(
            prepared: "update notification set sequence = ?, created_at = ? where id = ?",
            target.sequence,
            now.milliseconds,
            target.id
        )
        var recipients: Set<Int64> = []
        var users = UserSearch()
        for user in target.audience.users {
            // A user who was deleted since the post is skipped.
            let id = try users.user(withKey: user.key, of: target.audience.audience.app, db)
            guard let id, recipients.insert(id).inserted else { continue }
            _ = try Self.insertRecipient(id, of: target, change: target.sequence, pusher.sealing, db, now: now)
        }
        return try Self.enqueue(db, target, besides: recipients, by: pusher, page: AudienceWalk.page, now: now)
    }

    /// Recalls a notification that was never sent.
    private static func recallUnsent(_ db: Database, _ id: Int64, now: Date) throws {
        try db.run(
            prepared: "update notification set payload = null, alert = null, recalled_at = ? where id = ?",
            now.milliseconds,
            id
        )
    }
}

/// The audiences that the sender of a scheduled notification may send to at this moment.
private enum SenderRight {
    /// To everybody in these apps; `nil`: in all.
    case everything(in: Set<AppName>?)
    /// To itself, by the keyed hash of its name, in these apps.
    case toItself(Data, in: Set<AppName>)
    /// The user was deleted or disabled.
    case nothing

    init(_ db: Database, of sender: Int64) throws {
        let found = try db.first(
            prepared: "select role, name_key, apps from user where id = ? and disabled_at is null",
            sender
        ) { (role: Role(rawValue: $0.text(0)), key: $0.data(1), apps: Set(storedApps: $0.optionalText(2))) }
        switch found {
        case (.admin?, _, _)?: self = .everything(in: nil)
        case (.publisher?, _, let apps)?: self = .everything(in: apps)
        case (.device?, let key, let apps)?, (.viewer?, let key, let apps)?: self = .toItself(key, in: apps)
        case (nil, _, _)?, nil: self = .nothing
        }
    }

    func covers(_ audience: HashedAudience) -> Bool {
        switch self {
        case .everything(let apps): apps?.contains(audience.audience.app) ?? true
        case .toItself(let key, let apps):
            apps.contains(audience.audience.app) && audience.users.count == audience.audience.expressions.count
                && audience.users.allSatisfy { $0.key == key }
        case .nothing: false
        }
    }
}

extension SQLiteReader {
    package func sendTime(of id: NotificationID) throws(StoreError) -> Date? {
        try self.read { db in
            let sql = "select due_at from scheduled where notification_id = ? and is_set_aside = 0"
            return try db.first(prepared: sql, id.rawValue) { Date(milliseconds: $0.integer(0)) }
        }
    }

    package func schedule() throws(StoreError) -> Schedule {
        try self.read { db in
            Schedule(
                count: try db.first(prepared: "select count(*) from scheduled") { Int($0.integer(0)) } ?? 0,
                firstDue: try ScheduledNotification.nextDue(db)
            )
        }
    }
}
