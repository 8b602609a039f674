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
            try Self.mark(db, id, as: mark, by: user, ifStill: expected, changes, now: now)
        }
    }

    package func markRead(_ ids: [NotificationID], by user: Int64, now: Date) async throws -> [NotificationID] {
        try await self.writer.write { [changes] db in
            var seen: Set<NotificationID> = []
            return try ids.filter { id in
                guard seen.insert(id).inserted else { return false }
                return try Self.mark(db, id, as: .read, by: user, ifStill: nil, changes, now: now) == .marked
            }
        }
    }

    private static func mark(
        _ db: Database,
        _ id: NotificationID,
        as mark: ReadMark,
        by user: Int64,
        ifStill expected: ReadMark?,
        _ changes: ChangeNumbers,
        now: Date
    ) throws -> MarkOutcome {
        let isRead = try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    select r.read_at is not null from recipient r join notification n on n.id = r.notification_id
                    where r.notification_id = ? and r.user_id = ? and r.dismissed_at is null
                        and n.expires_at > ? and n.payload is not null
                    """
            ),
            arguments: [id.rawValue, user, now.milliseconds]
        )
        guard let isRead else { return .missing }
        let old: ReadMark = isRead ? .read : .unread
        if let expected, expected != old { return .changed }
        // Without a visible change, the change number stays.
        if old == mark { return .marked }
        try db.cachedStatement(
            sql: """
                update recipient set read_at = ?, change = ?, changed_at = ? where notification_id = ? and user_id = ?
                """
        ).execute(arguments: [
            mark == .read ? now.milliseconds : nil, changes.next(), now.milliseconds, id.rawValue, user,
        ])
        return .marked
    }
}
