internal import Foundation
internal import PostgreSQL
internal import PushStore

/// A notification and one of its recipients.
struct RecipientKey: Sendable, Hashable, Comparable {
    /// Migration P0009 explains why recipients are compared by `equality`.
    static let lookup = KeyLookup(columns: ["notification_id", "user_id"])

    let notification: Int64
    let user: Int64

    static func < (left: RecipientKey, right: RecipientKey) -> Bool {
        (left.notification, left.user) < (right.notification, right.user)
    }
}

/// Read-once payloads are erased when no recipient waits for them.
extension PostgreSQLStore {
    /// Records that recipients no longer wait for payloads, and erases the payloads that no
    /// recipient waits for any more.
    static func recordTaken(_ tx: WriteTransaction, _ recipients: [RecipientKey]) async throws {
        let rows = try await tx.query(
            """
            delete from untaken w using unnest($1::int8[], $2::int8[]) as t (notification_id, user_id)
            where \(RecipientKey.lookup.condition("w", "t")) returning w.notification_id
            """,
            recipients.map(\.notification),
            recipients.map(\.user)
        )
        try await Self.eraseIfTaken(tx, Set(try rows.map { try $0.integer(0) }).sorted())
    }

    /// Erases the read-once payloads among these notifications that no recipient waits for and
    /// that have no fan-out left.
    ///
    /// The transaction must have deleted its rows of `untaken` and `fanout` before. Two
    /// transactions may delete the last two rows: then the second to lock the notification's row
    /// sees the other one's deletion.
    static func eraseIfTaken(_ tx: WriteTransaction, _ notifications: [Int64]) async throws {
        if notifications.isEmpty { return }
        let found = try await tx.query(
            """
            select id, sender_id, length(payload)::int8 from notification
            where id = any($1::int8[]) and is_read_once and payload is not null order by id for no key update
            """,
            notifications
        ).map { (id: try $0.integer(0), sender: try $0.integer(1), bytes: try $0.optionalInteger(2) ?? 0) }
        if found.isEmpty { return }
        // This is a separate statement, because it must see commits that happened while the
        // statement before it waited for the rows.
        let erased = Set(
            try await tx.query(
                """
                update notification n set payload = null, alert = null where n.id = any($1::int8[])
                    and (select 1 from untaken w where w.notification_id = n.id limit 1) is null
                    and (select 1 from fanout f where f.notification_id = n.id limit 1) is null
                returning n.id
                """,
                found.map(\.id)
            ).map { try $0.integer(0) }
        )
        var freed: [Int64: Usage] = [:]
        for notification in found where erased.contains(notification.id) {
            freed[notification.sender, default: Usage()].bytes += notification.bytes
        }
        try await Self.subtract(tx, freed)
    }

    /// Cancels the pushes of notifications to all devices of their recipients.
    static func cancelPushes(
        _ tx: WriteTransaction,
        to recipients: [RecipientKey],
        reason: String,
        now: Date
    ) async throws {
        if recipients.isEmpty { return }
        let pushes = try await tx.query(
            Self.pushesToRecipients,
            recipients.map(\.notification),
            recipients.map(\.user)
        ).map { DuePush(notification: try $0.integer(0), device: try $0.integer(1)) }
        try await Self.cancel(tx, pushes, reason: reason, now: now)
    }

    /// Starts at the devices: a user has few devices, but a broadcast has very many pushes.
    static let pushesToRecipients = """
        select p.notification_id, p.device from unnest($1::int8[], $2::int8[]) as t (notification_id, user_id)
        join device d on d.user_id = t.user_id
        join push p on \(DuePush.equal("p", "t", device: "d.number"))
        order by 1, 2
        """

    /// Subtracts erased notifications and payloads from their senders' usage.
    ///
    /// Must come after all other statements: a sender's posts wait for this row.
    static func subtract(_ tx: WriteTransaction, _ erased: [Int64: Usage]) async throws {
        let senders = erased.keys.sorted()
        if senders.isEmpty { return }
        if senders.count > 1 {
            // The rows are locked by a statement of their own, because the update itself may lock
            // them in any order.
            _ = try await tx.query(
                "select user_id from usage where user_id = any($1::int8[]) order by user_id for no key update",
                senders
            )
        }
        _ = try await tx.query(
            """
            update usage g set notifications = g.notifications - t.notifications, bytes = g.bytes - t.bytes
            from unnest($1::int8[], $2::int8[], $3::int8[]) as t (user_id, notifications, bytes)
            where g.user_id = t.user_id
            """,
            senders,
            senders.map { erased[$0]?.notifications ?? 0 },
            senders.map { erased[$0]?.bytes ?? 0 }
        )
    }
}
