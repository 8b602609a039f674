package import Foundation
internal import GRDB
package import PushCore

extension Store {
    package enum ReadMark: Sendable, Hashable {
        case read, unread
    }

    package enum MarkOutcome: Sendable, Hashable {
        /// It is now as was asked for, and may have been before.
        case marked
        /// The user can see no such notification.
        case missing
        /// The mark was not the expected one any more.
        case changed
    }

    /// Notes that a recipient has read a notification, or has not. The first time that it was read is kept.
    ///
    /// `ifStill` is the mark that it must have had before, if any.
    package func mark(
        _ id: NotificationID,
        as mark: ReadMark,
        by user: Int64,
        ifStill expected: ReadMark? = nil,
        now: Date
    ) async throws -> MarkOutcome {
        try await self.writer.write { [changes] db in
            try Self.mark(db, id, as: mark, by: user, ifStill: expected, changes, now: now)
        }
    }

    /// Notes that a recipient has read notifications, all in one transaction; returns those that are read now, and leaves
    /// out those that the user cannot see.
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
        // Nothing that anybody sees becomes another.
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
