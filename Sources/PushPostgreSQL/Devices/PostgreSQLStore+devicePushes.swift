internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The pushes that wait for a device, where something happens to the device.
extension PostgreSQLStore {
    /// Cancels the pushes that wait for the devices, parked ones included.
    ///
    /// A push that is being sent cannot be cancelled: it is not retried, and its answer decides how it counts.
    static func cancelPushes(
        _ tx: WriteTransaction,
        ofDevices devices: [Int64],
        reason: String,
        now: Date
    ) async throws {
        let pushes = try await Self.lockPushes(tx, ofDevices: devices)
        let sent = pushes.filter(\.isSending)
        if !sent.isEmpty {
            _ = try await tx.query(Self.withdraw, sent.map(\.key.notification), sent.map(\.key.device), reason)
        }
        try await Self.settleCancelled(tx, pushes.filter { !$0.isSending }.map(\.key), reason: reason, now: now)
    }

    private static let withdraw = """
        update push p set is_withdrawn = true, reason = $3
        from unnest($1::bigint[], $2::bigint[]) as k (notification_id, device)
        where p.notification_id = k.notification_id and p.device = k.device
        """

    /// Settles all pushes to devices that are deleted, those that are being sent included: their answers come too late.
    static func endPushes(_ tx: WriteTransaction, ofDeleted devices: [Int64], now: Date) async throws {
        let pushes = try await Self.lockPushes(tx, ofDevices: devices)
        try await Self.settleCancelled(tx, pushes.map(\.key), reason: "the device is gone", now: now)
    }

    /// Makes the pushes that wait for the devices due at once, parked ones included; returns their number.
    static func wakePushes(_ tx: WriteTransaction, ofDevices devices: [Int64], now: Date) async throws -> Int {
        try await tx.query(Self.wake, devices, now.milliseconds).changed
    }

    static let wake = """
        with waiting as (
            select notification_id, device from push
            where device = any($1::bigint[]) and owner is null and (due_at is null or due_at > $2)
            order by notification_id, device for update)
        update push p set due_at = $2 from waiting w where p.notification_id = w.notification_id and p.device = w.device
        """

    /// Moves queued pushes of a device to its lane, as if they had just been enqueued there; returns how many, at most `page`.
    ///
    /// The tally counts them as cancelled in the old lane and as enqueued in the new one, so that each lane adds up and no
    /// count ever falls.
    static func moveQueued(
        _ tx: WriteTransaction,
        ofDevice device: Int64,
        page: Int,
        now: Date
    ) async throws -> Int {
        let moved = try await tx.query(Self.moveQueued, device, now.milliseconds, page)
        for (old, new) in try moved.map({ (try $0.text(0), try $0.text(1)) }) {
            tx.count(.cancelled, lane: old)
            tx.count(.enqueued, lane: new)
        }
        return moved.count
    }

    /// The times that the old provider named do not apply to the new one.
    static let moveQueued = """
        with waiting as (
            select p.notification_id, p.device, p.lane as old, d.lane as new
            from push p join device d on d.number = p.device
            where p.device = $1 and p.owner is null and p.lane <> d.lane
            order by p.notification_id limit $3 for update of p)
        update push p set lane = w.new, due_at = $2, attempts = 0, reason = case when p.is_withdrawn then p.reason end
        from waiting w where p.notification_id = w.notification_id and p.device = w.device
        returning w.old, w.new
        """

    // MARK: - Private

    private struct WaitingPush {
        let key: DuePush
        let isSending: Bool
    }

    private static func lockPushes(_ tx: WriteTransaction, ofDevices devices: [Int64]) async throws -> [WaitingPush] {
        try await tx.query(Self.pushesOfDevices, devices).map { row in
            WaitingPush(
                key: DuePush(notification: try row.integer(0), device: try row.integer(1)),
                isSending: try row.boolean(2)
            )
        }
    }

    static let pushesOfDevices = """
        select notification_id, device, owner is not null from push where device = any($1::bigint[])
        order by notification_id, device for update
        """

    private static func settleCancelled(
        _ tx: WriteTransaction,
        _ pushes: [DuePush],
        reason: String,
        now: Date
    ) async throws {
        if pushes.isEmpty { return }
        let (notifications, devices) = (pushes.map(\.notification), pushes.map(\.device))
        let ended = try await tx.query(Self.settleCancelled, notifications, devices, now.milliseconds, reason)
        for index in 0..<ended.count {
            let row = ended[index]
            let lane = try row.text(3)
            tx.count(.cancelled, lane: lane)
            tx.note(
                NewEvent(
                    kind: .cancelled,
                    at: now,
                    notification: try row.integer(0),
                    device: try row.integer(1),
                    user: try row.integer(2),
                    lane: lane,
                    sender: try row.optionalInteger(4),
                    reason: reason
                )
            )
        }
    }

    private static let settleCancelled = """
        with gone as (
            delete from push p using unnest($1::bigint[], $2::bigint[]) as k (notification_id, device)
            where p.notification_id = k.notification_id and p.device = k.device
            returning p.notification_id, p.device, p.user_id, p.lane, p.is_bulk, p.attempts),
        ended as (
            insert into push_end (notification_id, device, user_id, lane, is_bulk, state, attempts, settled_at, reason)
            select notification_id, device, user_id, lane, is_bulk, 'cancelled', attempts, $3, $4 from gone
            on conflict (notification_id, device) do nothing)
        select g.notification_id, g.device, g.user_id, g.lane, n.sender_id
        from gone g left join notification n on n.id = g.notification_id
        """
}
