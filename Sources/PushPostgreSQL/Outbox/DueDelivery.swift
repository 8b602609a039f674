internal import PostgreSQL
internal import PushCore
internal import PushStore

extension DueDelivery {
    /// Decodes the rows that a statement of `select` returns. Also reads the notifications of
    /// these pushes.
    static func all(_ rows: Rows, _ tx: WriteTransaction) async throws -> [DueDelivery] {
        let ids = Set(try rows.map { try $0.integer(Column.notificationID) })
        if ids.isEmpty { return [] }
        var notifications: [Int64: DueNotification] = [:]
        for row in try await tx.query(Self.notifications, Array(ids)) {
            let id = try row.integer(0)
            notifications[id] = try DueNotification(row, id: id, tx.sealing)
        }
        return try rows.map { try DueDelivery($0, of: notifications[$0.integer(Column.notificationID)], tx.sealing) }
    }

    /// The SQL condition on a row of `push` (alias `p`): no live server has leased the push.
    static let isFree = "(p.owner is null or p.owner <> all (array(select number from node where not is_fenced)))"

    /// Locks the pushes that satisfy a condition, the oldest first. Also reads the columns that
    /// the decision about each push depends on.
    ///
    /// Skips pushes that another transaction has locked, so that the statement never waits.
    static func select(where condition: String, limit: String) -> String {
        """
        with c as materialized (
            select p.notification_id, p.device, p.user_id, p.attempts, p.is_withdrawn, p.reason, p.due_at from push p
            where \(condition) and \(Self.isFree) order by p.due_at limit \(limit) for update of p skip locked)
        select \(Column.list) from c left join device v on v.number = c.device
        """
    }

    static let notifications = """
        select n.id, n.sender_id, n.recalled_at is not null, n.seed, n.sequence, n.expires_at, n.priority, n.collapse_id, n.alert
        from notification n where n.id = any($1::int8[])
        """
}

extension DueNotification {
    fileprivate init(_ row: Row, id: Int64, _ sealing: Sealing) throws {
        let sender = try row.integer(1)
        self.init(
            isRecalled: try row.boolean(2),
            seed: try row.integer(3),
            sequence: try row.integer(4),
            expiresAt: try row.integer(5),
            priority: try row.text(6),
            collapseID: try row.optionalText(7),
            alert: try row.optionalData(8).map { sealed in
                Result { () throws(VaultError) in try sealing.alert(sealed, of: id, sender: sender) }
            }
        )
    }
}
