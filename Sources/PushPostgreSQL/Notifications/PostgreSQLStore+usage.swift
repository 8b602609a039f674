internal import PostgreSQL
internal import PushStore

extension PostgreSQLStore {
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
