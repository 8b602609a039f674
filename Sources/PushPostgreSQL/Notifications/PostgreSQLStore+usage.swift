internal import PostgreSQL
internal import PushStore

extension PostgreSQLStore {
    /// Subtracts erased notifications and payloads from the stored amounts of their senders.
    ///
    /// This must be the transaction's last statement: all posts of a sender wait for its row of
    /// `usage`.
    static func subtract(_ tx: WriteTransaction, _ erased: [Int64: Usage]) async throws {
        let senders = erased.keys.sorted()
        if senders.isEmpty { return }
        if senders.count > 1 {
            // A separate statement locks the rows, because the update itself might lock them in
            // any order.
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
