package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func dismiss(
        _ id: NotificationID,
        by user: Int64,
        ifStill mark: ReadMark?,
        recording record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        let recipient = RecipientKey(notification: id.rawValue, user: user)
        return try await self.write { tx in
            // Reads without a lock first, so that most dismissals without an effect write nothing.
            let isReadOnce = try await tx.query(
                """
                select n.is_read_once from recipient r join notification n on n.id = r.notification_id
                where r.notification_id = $1 and r.user_id = $2 and r.dismissed_at is null
                    and n.expires_at > $3 and n.payload is not null
                """,
                id.rawValue,
                user,
                now.milliseconds
            ).first?.boolean(0)
            guard let isReadOnce else { return false }
            let numbers = try await tx.changes(ofUsers: [user])
            let dismissed = try await tx.query(
                """
                update recipient r set dismissed_at = $3, change = $4, changed_at = $3 from notification n
                where r.notification_id = $1 and r.user_id = $2 and r.dismissed_at is null
                    and coalesce($5 = (r.read_at is not null), true)
                    and n.id = $1 and n.expires_at > $3 and n.payload is not null
                """,
                id.rawValue,
                user,
                now.milliseconds,
                try Self.number(of: user, in: numbers),
                mark.map { $0 == .read }
            )
            guard dismissed.changed == 1 else { return false }
            try await Self.cancelPushes(tx, to: [recipient], reason: PushReason.dismissed, now: now)
            if isReadOnce { try await Self.recordTaken(tx, [recipient]) }
            if let record { tx.append(record) }
            return true
        }
    }
}
