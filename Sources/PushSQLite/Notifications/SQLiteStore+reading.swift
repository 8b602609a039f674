package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func mark(
        _ id: NotificationID,
        as mark: ReadMark,
        by user: Int64,
        ifStill expected: ReadMark?,
        now: Date
    ) async throws -> MarkOutcome {
        try await self.writer.write { db in
            let old = try Self.state(of: id, for: user, db, now: now)?.mark
            if let outcome = mark.outcome(replacing: old, ifStill: expected) { return outcome }
            try self.set(mark, of: id, for: user, db, now: now)
            return .marked
        }
    }

    package func markRead(
        _ ids: [NotificationID],
        by user: User,
        now: Date
    ) async throws -> (read: [NotificationID], changedApps: Set<AppName>) {
        try await self.writer.write { db in
            var marks: [Int64: (mark: ReadMark, app: AppName)] = [:]
            // One statement for all ids, since other users' posts wait for this transaction.
            try db.each(prepared: Self.marks, values: [ids.map(\.rawValue).json, user.id, now.milliseconds]) { row in
                let app = AppName(stored: row.optionalText(2))
                guard user.mayUse(app) else { return }
                marks[row.integer(0)] = (row.isNull(1) ? .unread : .read, app)
            }
            var changedApps: Set<AppName> = []
            let read = try ids.filter { id in
                guard let old = marks.removeValue(forKey: id.rawValue) else { return false }
                guard old.mark == .unread else { return true }
                try self.set(.read, of: id, for: user.id, db, now: now)
                changedApps.insert(old.app)
                return true
            }
            return (read: read, changedApps: changedApps)
        }
    }

    /// The visible notifications among the ids, which are a JSON array.
    private static let marks = """
        select n.id, r.read_at, n.app
        from json_each(?1) k cross join notification n on n.id = k.value
        cross join recipient r on r.notification_id = n.id and r.user_id = ?2
        where n.expires_at > ?3 and n.payload is not null and r.dismissed_at is null
        """

    private func set(_ mark: ReadMark, of id: NotificationID, for user: Int64, _ db: Database, now: Date) throws {
        let readAt = mark == .read ? now.milliseconds : nil
        try db.run(
            """
            update recipient set read_at = \(readAt), change = \(self.changes.next()), changed_at = \(now.milliseconds)
            where notification_id = \(id.rawValue) and user_id = \(user)
            """
        )
    }
}
