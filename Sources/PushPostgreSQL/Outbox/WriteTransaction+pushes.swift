internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension WriteTransaction {
    /// Cancels the pushes in `pushes` that are still in the outbox. Pushes that have ended stay as
    /// they are.
    ///
    /// A push that is being sent cannot be cancelled; it is withdrawn instead. A withdrawn push is
    /// not retried, and the provider's answer decides whether it counts as accepted.
    func cancel(_ pushes: [DuePush], reason: String, now: Date) async throws {
        try await self.cancel(Self.locked(self.query(Self.lockKeys, keys: pushes)), reason: reason, now: now)
    }

    /// Cancels all pushes to these devices, including pushes that wait for a device to connect.
    /// Withdraws pushes that are being sent.
    ///
    /// This function is for retired devices, which get no more pushes, but whose rows remain. It
    /// works in pages, since a statement has a time limit.
    func cancelPushes(ofDevices devices: [Int64], reason: String, now: Date) async throws {
        let page = PostgreSQLStore.deletionPage
        while true {
            let locked = try Self.locked(await self.query(Self.lockDevices, devices, page))
            try await self.cancel(locked, reason: reason, now: now)
            if locked.count < page { return }
        }
    }

    private static func locked(_ rows: some Collection<Row>) throws -> [(push: DuePush, isLeased: Bool)] {
        try rows.map { (try DuePush($0), try $0.flag("is_leased")) }
    }

    private func cancel(_ locked: [(push: DuePush, isLeased: Bool)], reason: String, now: Date) async throws {
        try await self.end(locked.filter { !$0.isLeased }.map { $0.push.cancelled(reason) }, now: now)
        try await self.query(Self.markCancelled, keys: locked.filter(\.isLeased).map(\.push), reason)
    }

    static let lockKeys = """
        select p.notification_id, p.device, p.owner is not null as is_leased
        from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
        join push p on \(DuePush.equal("p", "k"))
        order by p.notification_id, p.device for update of p
        """
    /// Locks the next pushes to these devices. Pushes of earlier pages are left out: they have
    /// ended, or are withdrawn.
    static let lockDevices = """
        select p.notification_id, p.device, p.owner is not null as is_leased
        from pg_catalog.unnest($1::int8[]) as d (device) cross join lateral (
            select notification_id, device, owner from push
            where \(DuePush.byDevice.rows(of: "d.device", after: "0")) and (owner is null or not is_withdrawn)
            order by \(DuePush.byDevice.order) limit $2 for update) as p
        limit $2
        """
    static let markCancelled = """
        update push p set is_withdrawn = true, reason = $3
        from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
        where \(DuePush.equal("p", "k"))
        """

    /// The state of a push, and its lane. Locks the push's row, so that no server leases or ends
    /// the push meanwhile.
    func standing(_ notification: Int64, device: Int64) async throws -> (PushStanding, lane: String)? {
        if let row = try await self.query(Self.lockOne, notification, device).first {
            let lane = try row.text("lane")
            if try row.flag("is_leased") { return (.sending(isCancelled: try row.flag("is_withdrawn")), lane) }
            return (.waiting(until: try row.optionalDate("due_at")), lane)
        }
        // Each statement has its own snapshot. So this statement sees the push if it ended while
        // the previous statement waited for the lock.
        guard let row = try await self.query(Self.findEnd, notification, device).first else { return nil }
        return (.ended(DeliveryStage(rawValue: try row.text("state")) ?? .failed), try row.text("lane"))
    }

    static let lockOne = """
        select owner is not null as is_leased, is_withdrawn, due_at, lane from push
        where notification_id = $1 and device = $2 for update
        """
    static let findEnd = "select state, lane from push_end where notification_id = $1 and device = $2"

    /// Makes pushes due again for the same attempt, if they are still leased. Moves a push whose
    /// device now has another lane (a provider's queue), and cancels a push that was withdrawn.
    func requeue(_ settlements: [PushSettlement], now: Date) async throws {
        let rows = try await self.query(
            Self.lockLeased,
            keys: settlements.map(\.push),
            settlements.map(\.owner),
            settlements.map(\.attempts)
        )
        let returns = Dictionary(settlements.map { ($0.push, $0.return) }) { first, _ in first }
        var (ends, moves): ([PushEnd], [DuePush]) = ([], [])
        var waits: [(push: DuePush, wait: PushSettlement.Return)] = []
        for row in rows {
            let push = try DuePush(row)
            guard let wait = returns[push] ?? nil else { continue }
            if try row.flag("is_withdrawn") {
                ends.append(push.cancelled(try row.optionalText("reason")))
            } else if try row.flag("has_moved") {
                moves.append(push)
            } else {
                waits.append((push, wait))
            }
        }
        try await self.end(ends, now: now)
        try await self.move(moves, now: now)
        try await self.query(
            Self.requeue,
            keys: waits.map(\.push),
            waits.map { $0.wait.dueAt?.milliseconds } as [Int64?],
            waits.map(\.wait.reason),
            waits.map(\.wait.attempts)
        )
    }

    static let lockLeased = """
        select p.notification_id, p.device, p.is_withdrawn, p.reason, coalesce(v.lane <> \(lane("p")), false) as has_moved
        from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[]) as k (notification_id, device, owner, attempts)
        join push p on \(DuePush.equal("p", "k"))
            and p.owner = k.owner and p.attempts = k.attempts
        left join device v on v.number = p.device
        order by p.notification_id, p.device for update of p
        """

    static let requeue = """
        update push p set owner = null, due_at = k.due_at, reason = k.reason, attempts = k.attempts
        from unnest($1::int8[], $2::int8[], $3::int8[], $4::text[], $5::int8[])
            as k (notification_id, device, due_at, reason, attempts)
        where \(DuePush.equal("p", "k"))
        """

    // MARK: Lanes

    /// Moves queued pushes of a device to the device's present lane, at most `page`; returns the
    /// number of moved pushes.
    ///
    /// A push that is being sent moves when it is retried. A push that is enqueued at the same
    /// time moves when it is leased.
    func moveQueued(ofDevice device: Int64, page: Int, now: Date) async throws -> Int {
        let lanes = self.streamLanes.sorted()
        return try self.countMoves(await self.query(Self.moveQueuedPushes, device, page, now.milliseconds, lanes))
    }

    /// Moves pushes to the present lanes (providers' queues) of their devices. This transaction
    /// has already locked these pushes.
    func move(_ pushes: [DuePush], now: Date) async throws {
        let rows = try await self.query(Self.movePushes, keys: pushes, now.milliseconds, self.streamLanes.sorted())
        _ = try self.countMoves(rows)
    }

    private func countMoves(_ rows: some Collection<Row>) throws -> Int {
        for row in rows {
            self.count(.cancelled, lane: try row.text("old"))
            self.count(.enqueued, lane: try row.text("new"))
        }
        return rows.count
    }

    /// The SQL expression for the lane of a push's device. A look (a push that only tells a device
    /// to sync) is in a lane of its own. The name of this lane is the device's lane with a suffix.
    static func lane(_ push: String) -> String { "replace(\(push).lane, '\(Lane.lookSuffix)', '')" }

    /// The SQL expression for a push's new lane. A look moves to the new lane's lane of looks.
    private static let newLane = """
        v.lane || case when p.lane like '%\(Lane.lookSuffix)' then '\(Lane.lookSuffix)' else '' end
        """

    /// The expiry of a push whose device needs an event stream, but has none. If one is opened at
    /// the same time, `isAnythingWaiting` finds the push afterwards.
    private static let parking = """
        (select n.expires_at from notification n where n.id = p.notification_id
            and \(newLane) = any($4::text[]) and \(StreamHolder.ofPush) is null)
        """

    /// Moves pushes, and makes them due now, at the time `$3`: the old provider's retry times do
    /// not apply to the new provider. A push that needs a stream waits for it until its expiry.
    private static let movement = """
        update push p set lane = m.new, due_at = coalesce(m.parked, $3), attempts = 0, owner = null,
            reason = case when p.is_withdrawn then p.reason when m.parked > 0 then '\(PushReason.away)' end
        from m where \(DuePush.equal("p", "m"))
        returning m.old, m.new
        """

    static let moveQueuedPushes = """
        with m as (
            select p.notification_id, p.device, p.lane as old, \(newLane) as new, \(parking) as parked
            from push p join device v on v.number = p.device
            where p.device = $1 and p.due_at is not null and p.owner is null and \(lane("p")) <> v.lane
            order by p.notification_id limit $2 for update of p)
        \(movement)
        """

    static let movePushes = """
        with m as (
            select p.notification_id, p.device, p.lane as old, \(newLane) as new, \(parking) as parked
            from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
            join push p on \(DuePush.equal("p", "k"))
            join device v on v.number = p.device and v.lane <> \(lane("p")))
        \(movement)
        """

    /// Settles at most `limit` pushes to deleted devices, including pushes that wait for a device
    /// to connect or are being sent. A provider's later answer then changes nothing. Returns their
    /// number.
    ///
    /// Afterwards the caller must delete the devices' rows of `device_push`: an answer that was
    /// stored just before this call may have added such a row.
    func endPushes(ofDevices devices: [Int64], atMost limit: Int, now: Date) async throws -> Int {
        let pushes = try await self.query(Self.pushesOfDevices, devices, limit).map(DuePush.init)
        try await self.end(pushes.map { $0.cancelled(PushReason.deviceGone) }, now: now)
        return pushes.count
    }

    static let pushesOfDevices = """
        select p.notification_id, p.device from pg_catalog.unnest($1::int8[]) as d (device) cross join lateral (
            select notification_id, device from push where \(DuePush.byDevice.rows(of: "d.device", after: "0"))
            order by \(DuePush.byDevice.order) limit $2) as p
        limit $2
        """
}
