internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Moves pushes to the present lanes (providers' queues) of their devices, for `DeviceStore.move`.
extension WriteTransaction {
    /// Moves queued pushes of a device to the device's present lane, at most `page`; returns the
    /// number of moved pushes.
    ///
    /// A push that is being sent moves when it is retried. A push that is enqueued at the same
    /// time moves when it is leased.
    func moveQueued(ofDevice device: Int64, page: Int, now: Date) async throws -> Int {
        try self.countMoves(try await self.query(Self.moveQueuedPushes, device, page, now.milliseconds))
    }

    /// Moves pushes to the present lanes (providers' queues) of their devices. This transaction
    /// has already locked these pushes.
    func move(_ pushes: [DuePush], now: Date) async throws {
        if pushes.isEmpty { return }
        _ = try self.countMoves(try await self.query(Self.movePushes, keys: pushes, now.milliseconds))
    }

    // MARK: - Private

    private func countMoves(_ rows: Rows) throws -> Int {
        for row in rows {
            self.count(.cancelled, lane: try row.text(0))
            self.count(.enqueued, lane: try row.text(1))
        }
        return rows.count
    }

    /// The SQL expression for the lane of a push's device. A look (a push that only tells a device
    /// to sync) is in a lane of its own. The name of this lane is the device's lane with a suffix.
    static func lane(_ push: String) -> String { "replace(\(push).lane, '\(Lane.lookSuffix)', '')" }

    /// The SQL expression for a push's new lane. A look (a push that only tells a device to sync)
    /// moves to the lane of looks that belongs to the device's new lane.
    private static let newLane = """
        v.lane || case when p.lane like '%\(Lane.lookSuffix)' then '\(Lane.lookSuffix)' else '' end
        """

    /// Moves pushes, and makes them due now: the old provider's retry times do not apply to the
    /// new provider.
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
            where p.device = $1 and p.due_at is not null and p.owner is null and \(WriteTransaction.lane("p")) <> v.lane
            order by p.notification_id limit $2 for update of p)
        \(movement(at: "$3"))
        """

    static let movePushes = """
        with m as (
            select p.notification_id, p.device, p.lane as old, \(newLane) as new
            from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
            join push p on \(DuePush.equal("p", "k"))
            join device v on v.number = p.device and v.lane <> \(WriteTransaction.lane("p")))
        \(movement(at: "$3"))
        """
}
