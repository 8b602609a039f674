package import Foundation
internal import GRDB
package import PushCore

extension Store {
    /// Puts a notification away for one of its recipients, whose pushes of it are cancelled; `false` if the user can
    /// see no such notification.
    package func dismiss(
        _ id: NotificationID,
        by user: Int64,
        noting record: AuditRecord? = nil,
        now: Date
    ) async throws -> Bool {
        try await self.write(by: record) { db in
            try db.execute(
                literal: """
                    update recipient set dismissed_at = \(now.milliseconds)
                    where notification_id = \(id.rawValue) and user_id = \(user) and dismissed_at is null
                        and exists (select 1 from notification
                            where id = \(id.rawValue) and expires_at > \(now.milliseconds) and payload is not null)
                    """
            )
            guard db.changesCount == 1 else { return false }
            try Self.cancel(
                db,
                where: """
                    notification_id = \(id.rawValue)
                    and device in (select number from device where user_id = \(user))
                    """,
                reason: "dismissed by the user",
                now: now
            )
            return true
        }
    }

    /// Who takes a notification back.
    package enum Recaller: Sendable, Hashable {
        case sender(Int64)
        case administrator
    }

    /// Takes a notification back from everybody: its payload is gone at once, and nothing of it is sent any more.
    ///
    /// Returns `false` if there is no such notification, or it is another's. The pushes are cancelled with
    /// `cancelRecalled`; those that are due before it comes to them are cancelled then.
    package func recall(
        _ id: NotificationID,
        by recaller: Recaller,
        noting record: AuditRecord? = nil,
        now: Date
    ) async throws -> Bool {
        let condition: SQL
        switch recaller {
        case .sender(let user): condition = "sender_id = \(user)"
        case .administrator: condition = "true"
        }
        return try await self.write(by: record) { [writer] db in
            try db.execute(
                literal: """
                    update notification set payload = null, recalled_at = \(now.milliseconds)
                    where id = \(id.rawValue) and expires_at > \(now.milliseconds) and recalled_at is null
                        and payload is not null and \(condition)
                    """
            )
            guard db.changesCount == 1 else { return false }
            try db.execute(literal: "delete from fanout where notification_id = \(id.rawValue)")
            writer.noteErasure()
            return true
        }
    }

    /// Cancels a page of the pushes of a notification that was recalled, behind a device's number; returns the last
    /// number that it has come to, or `nil` after the last page.
    package func cancelRecalled(
        _ id: NotificationID,
        after device: Int64,
        page: Int = Store.fanoutPage,
        now: Date
    ) async throws -> Int64? {
        try await self.writer.write { db in
            let last = try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        select device from delivery where notification_id = ? and device > ?
                        order by device limit 1 offset ?
                        """
                ),
                arguments: [id.rawValue, device, page - 1]
            )
            try Self.cancel(
                db,
                where: "notification_id = \(id.rawValue) and device > \(device) and device <= \(last ?? .max)",
                reason: Self.recalled,
                now: now
            )
            return last
        }
    }

    /// Why a push is not sent whose notification was taken back.
    static let recalled = "recalled"
}
