internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Cancels pushes that are not needed any more.
///
/// A push that is being sent cannot be cancelled; it is withdrawn instead. A withdrawn push is not
/// retried, and the provider's answer decides whether it counts as accepted.
extension PostgreSQLStore {
    /// Cancels the pushes in `pushes` that are still in the outbox. Pushes that have ended stay as
    /// they are.
    static func cancel(_ tx: WriteTransaction, _ pushes: [DuePush], reason: String, now: Date) async throws {
        if pushes.isEmpty { return }
        let locked = try Self.locked(try await tx.query(Self.lockKeys, keys: pushes))
        try await Self.cancel(tx, locked, reason: reason, now: now)
    }

    /// Cancels all pushes to these devices, including pushes that wait for a device to connect.
    /// Withdraws pushes that are being sent.
    ///
    /// This function is for retired devices, which get no more pushes, but whose rows remain.
    static func cancelPushes(
        _ tx: WriteTransaction,
        ofDevices devices: [Int64],
        reason: String,
        now: Date
    ) async throws {
        let locked = try Self.locked(try await tx.query(Self.lockDevices, devices))
        try await Self.cancel(tx, locked, reason: reason, now: now)
    }

    /// Settles at most `limit` pushes to deleted devices, including pushes that wait for a device
    /// to connect or are being sent. A provider's later answer then changes nothing. Returns their
    /// number.
    ///
    /// Afterwards the caller must delete the devices' rows of `device_push`: an answer that was
    /// stored just before this call may have added such a row.
    static func endPushes(
        _ tx: WriteTransaction,
        ofDevices devices: [Int64],
        atMost limit: Int,
        now: Date
    ) async throws -> Int {
        let pushes = try await tx.query(Self.pushesOfDevices, devices, limit).map(DuePush.init)
        try await Self.end(tx, pushes.map { $0.cancelled(PushReason.deviceGone) }, now: now)
        return pushes.count
    }

    // MARK: - Private

    private static func locked(_ rows: Rows) throws -> [(push: DuePush, isLeased: Bool)] {
        try rows.map { (try DuePush($0), try $0.boolean(2)) }
    }

    private static func cancel(
        _ tx: WriteTransaction,
        _ locked: [(push: DuePush, isLeased: Bool)],
        reason: String,
        now: Date
    ) async throws {
        try await Self.end(tx, locked.filter { !$0.isLeased }.map { $0.push.cancelled(reason) }, now: now)
        let leased = locked.filter(\.isLeased).map(\.push)
        if leased.isEmpty { return }
        _ = try await tx.query(Self.markCancelled, keys: leased, reason)
    }

    static let lockKeys = """
        select p.notification_id, p.device, p.owner is not null
        from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
        join push p on \(DuePush.equal("p", "k"))
        order by p.notification_id, p.device for update of p
        """
    static let pushesOfDevices = """
        select p.notification_id, p.device from pg_catalog.unnest($1::int8[]) as d (device) cross join lateral (
            select notification_id, device from push where \(DuePush.byDevice.rows(of: "d.device", after: "0"))
            order by \(DuePush.byDevice.order) limit $2) as p
        limit $2
        """
    static let lockDevices = """
        select notification_id, device, owner is not null from push
        where device = any($1::int8[]) order by notification_id, device for update
        """
    static let markCancelled = """
        update push p set is_withdrawn = true, reason = $3
        from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
        where \(DuePush.equal("p", "k"))
        """
}
