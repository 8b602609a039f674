internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Cancels pushes that are not needed any more.
///
/// A push that is being sent cannot be cancelled; it is withdrawn instead. A withdrawn push is not
/// retried, and the provider's answer decides whether it counts as accepted.
extension WriteTransaction {
    /// Cancels the pushes in `pushes` that are still in the outbox. Pushes that have ended stay as
    /// they are.
    func cancel(_ pushes: [DuePush], reason: String, now: Date) async throws {
        if pushes.isEmpty { return }
        try await self.cancel(Self.locked(self.query(Self.lockKeys, keys: pushes)), reason: reason, now: now)
    }

    /// Cancels all pushes to these devices, including pushes that wait for a device to connect.
    /// Withdraws pushes that are being sent.
    ///
    /// This function is for retired devices, which get no more pushes, but whose rows remain.
    func cancelPushes(ofDevices devices: [Int64], reason: String, now: Date) async throws {
        try await self.cancel(Self.locked(self.query(Self.lockDevices, devices)), reason: reason, now: now)
    }

    // MARK: - Private

    fileprivate static func locked(_ rows: Rows) throws -> [(push: DuePush, isLeased: Bool)] {
        try rows.map { (try DuePush($0), try $0.boolean(2)) }
    }

    private func cancel(_ locked: [(push: DuePush, isLeased: Bool)], reason: String, now: Date) async throws {
        try await self.end(locked.filter { !$0.isLeased }.map { $0.push.cancelled(reason) }, now: now)
        let leased = locked.filter(\.isLeased).map(\.push)
        if leased.isEmpty { return }
        _ = try await self.query(Self.markCancelled, keys: leased, reason)
    }

    static let lockKeys = """
        select p.notification_id, p.device, p.owner is not null
        from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
        join push p on \(DuePush.equal("p", "k"))
        order by p.notification_id, p.device for update of p
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

extension PostgreSQLStore {
    /// Settles all pushes to deleted devices, including pushes that wait for a device to connect
    /// or are being sent. A provider's later answer then changes nothing.
    ///
    /// Afterwards the caller must delete the devices' rows of `device_push`: an answer that was
    /// stored just before this call may have added such a row.
    static func endPushes(_ tx: WriteTransaction, ofDevices devices: [Int64], now: Date) async throws {
        let locked = try WriteTransaction.locked(try await tx.query(WriteTransaction.lockDevices, devices))
        try await tx.end(locked.map { $0.push.cancelled("the device is gone") }, now: now)
    }
}
