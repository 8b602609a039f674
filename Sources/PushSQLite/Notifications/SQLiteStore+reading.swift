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
        try await self.writer.write { [changes] db in
            let old = try Self.state(of: id, for: user, db, now: now)?.mark
            return try Self.mark(db, id, as: mark, replacing: old, by: user, ifStill: expected, changes, now: now)
        }
    }

    package func markRead(
        _ ids: [NotificationID],
        by user: Int64,
        now: Date
    ) async throws -> (read: [NotificationID], hasChanged: Bool) {
        try await self.writer.write { [changes] db in
            var seen: Set<NotificationID> = []
            var hasChanged = false
            let read = try ids.filter { id in
                guard seen.insert(id).inserted else { return false }
                let old = try Self.state(of: id, for: user, db, now: now)?.mark
                let outcome = try Self.mark(
                    db,
                    id,
                    as: .read,
                    replacing: old,
                    by: user,
                    ifStill: nil,
                    changes,
                    now: now
                )
                guard outcome == .marked else { return false }
                if old == .unread { hasChanged = true }
                return true
            }
            return (read: read, hasChanged: hasChanged)
        }
    }

    private static func mark(
        _ db: Database,
        _ id: NotificationID,
        as mark: ReadMark,
        replacing old: ReadMark?,
        by user: Int64,
        ifStill expected: ReadMark?,
        _ changes: ChangeNumbers,
        now: Date
    ) throws -> MarkOutcome {
        if let outcome = mark.outcome(replacing: old, ifStill: expected) { return outcome }
        let readAt = mark == .read ? now.milliseconds : nil
        try db.run(
            """
            update recipient set read_at = \(readAt), change = \(changes.next()), changed_at = \(now.milliseconds)
            where notification_id = \(id.rawValue) and user_id = \(user)
            """
        )
        return .marked
    }
}
