internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Moves pushes to the lanes of their devices, as `DeviceStore.move` says.
extension PostgreSQLStore {
    /// Moves queued pushes of a device to its lane; returns how many, at most `page`.
    ///
    /// Pushes that are being sent move when they are retried. Pushes that are enqueued at the same
    /// time move when they are leased.
    static func moveQueued(
        _ tx: WriteTransaction,
        ofDevice device: Int64,
        page: Int,
        now: Date
    ) async throws -> Int {
        try Self.countMoves(tx, try await tx.query(Self.moveQueuedPushes, device, page, now.milliseconds))
    }

    /// Moves pushes, which this transaction has locked, to the lanes of their devices.
    static func move(_ tx: WriteTransaction, _ pushes: [DuePush], now: Date) async throws {
        if pushes.isEmpty { return }
        let rows = try await tx.query(
            Self.movePushes,
            pushes.map(\.notification),
            pushes.map(\.device),
            now.milliseconds
        )
        _ = try Self.countMoves(tx, rows)
    }

    // MARK: - Private

    private static func countMoves(_ tx: WriteTransaction, _ rows: Rows) throws -> Int {
        for row in rows.map({ $0 }) {
            tx.count(.cancelled, lane: try row.text(0))
            tx.count(.enqueued, lane: try row.text(1))
        }
        return rows.count
    }

    /// The lane of the devices of a push. A look is in a lane of its own, whose name is that of
    /// the devices' lane with a suffix.
    static func lane(_ push: String) -> String { "replace(\(push).lane, '\(Lane.lookSuffix)', '')" }

    /// A look moves to the new lane's lane of looks.
    private static let newLane = """
        v.lane || case when p.lane like '%\(Lane.lookSuffix)' then '\(Lane.lookSuffix)' else '' end
        """

    /// Ignores the retry times of the old provider, which do not apply to the new one.
    private static func movement(at now: String) -> String {
        """
        update push p set lane = m.new, due_at = \(now), attempts = 0, owner = null,
            reason = case when p.is_withdrawn then p.reason end
        from m where \(DuePush.equal("p", "m"))
        returning m.old, m.new
        """
    }

    static let moveQueuedPushes = """
        with m as (
            select p.notification_id, p.device, p.lane as old, \(newLane) as new
            from push p join device v on v.number = p.device
            where p.device = $1 and p.due_at is not null and p.owner is null and \(PostgreSQLStore.lane("p")) <> v.lane
            order by p.notification_id limit $2 for update of p)
        \(movement(at: "$3"))
        """

    static let movePushes = """
        with m as (
            select p.notification_id, p.device, p.lane as old, \(newLane) as new
            from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
            join push p on \(DuePush.equal("p", "k"))
            join device v on v.number = p.device and v.lane <> \(PostgreSQLStore.lane("p")))
        \(movement(at: "$3"))
        """
}
