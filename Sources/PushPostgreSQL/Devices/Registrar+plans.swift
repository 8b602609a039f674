internal import PostgreSQL
internal import PushCore
internal import PushStore

extension Registrar {
    /// Writes the plan of a registration. Returns the number of pushes that have moved to the
    /// device's new lane (a provider's queue).
    func write(_ plan: RegistrationPlan) async throws -> Int {
        for old in plan.retired {
            if old.user == self.user { _ = try await self.tx.query(Self.moveLook, old.device, plan.device) }
            try await self.tx.retire(
                devices: [old.device],
                ofUser: old.user,
                reason: old.reason,
                moved: old.platform,
                now: self.now
            )
        }
        if let claim = plan.claim { try await self.tx.delete(devices: [claim]) }
        try await self.save(plan.values, as: plan.device)
        try await self.replaceTags(of: plan.device, by: plan.values.tags)
        for record in plan.records { self.tx.append(record) }
        if plan.forgetsPushes { _ = try await self.tx.query("delete from device_push where device = $1", plan.device) }
        if let key = plan.usedCode { _ = try await self.tx.query(Self.useCode, key) }
        guard plan.movesPushes else { return 0 }
        while try await self.tx.wakePushes(ofDevices: [plan.device], now: self.now) == WakePace.page {}
        return try await self.tx.moveQueued(ofDevice: plan.device, page: self.page, now: self.now)
    }

    /// Moves the waiting look (a push that tells a device to sync) of the user's earlier device
    /// `$1` with the same handle. It moves only to a device that never had a look.
    private static let moveLook = """
        with k as (
            select o.look_id as notification_id, o.number as device, o.look_at from device o
            where o.number = $1 and (select n.look_id from device n where n.number = $2) is null),
        moved as (
            update push p set device = $2 from k where \(DuePush.equal("p", "k")) and p.owner is null
            returning k.notification_id, k.look_at)
        update device v set look_id = m.notification_id, look_at = m.look_at from moved m where v.number = $2
        """
    private static let useCode = "update confirmation set is_used = true where handle_key = $1"

    /// Writes the plan of a claim to a handle. Returns `false`, and writes nothing, if the id
    /// for the notification with the confirmation code is already in use.
    func write(_ plan: ClaimPlan) async throws -> Bool {
        if let push = plan.push, try await !self.insert(push) { return false }
        if let claim = plan.ended { try await self.tx.delete(devices: [claim]) }
        let number = try await self.claimRow(plan)
        try await self.save(plan.values, as: number)
        if let push = plan.push { try await self.enqueue(push, to: number, plan.values) }
        if let record = plan.record { self.tx.append(record) }
        return true
    }

    // MARK: - Private

    private func save(_ values: HandleValues, as number: Int64) async throws {
        do {
            _ = try await self.tx.query(
                Self.saveDevice,
                number,
                values.at.milliseconds,
                values.registration.platform.description,
                values.registration.lane.description,
                try self.sealing.seal(values.registration.handle.value, in: .handle(number)),
                values.key,
                try self.sealing.seal(values.tags, in: .tags(number)),
                values.isMovable,
                values.registration.isShared,
                values.token?.description
            )
        } catch DatabaseError.refused(code: "23505", _) {
            throw HandleTaken()
        }
    }

    /// If the device's look (a push that tells it to sync) waits for a retry, also makes the look
    /// due: the device may be reachable again.
    private static let saveDevice = """
        with look as (
            update push p set due_at = $2
            from (select look_id as notification_id, number as device from device where number = $1) k
            where \(DuePush.equal("p", "k")) and p.owner is null and p.attempts > 0 and p.due_at > $2)
        update device set registered_at = $2, platform = $3, lane = $4, handle = $5, handle_key = $6, tags = $7,
            environment_moves = case when $8 then 0 else environment_moves end, is_shared = $9,
            session = (select prefix from token where prefix = $10 and is_session), session_at = $2
        where number = $1
        """

    /// Returns the number of the row for the claim to a handle. If the plan has an earlier claim
    /// of the user, moves its row to this device; otherwise inserts a row.
    private func claimRow(_ plan: ClaimPlan) async throws -> Int64 {
        if let earlier = plan.earlier {
            _ = try await self.tx.query("update device set claims_for = $2 where number = $1", earlier, plan.device)
            return earlier
        }
        let id = RegistrationID.random().description
        let inserted = try await self.tx.query(Self.insertClaim, id, self.user, self.now.milliseconds, plan.device)
        guard let number = try inserted.first?.integer() else {
            throw StoreError.failed(reason: "a claim was not stored")
        }
        return number
    }

    private static let insertClaim = """
        insert into device (id, user_id, created_at, registered_at, claims_for) values ($1, $2, $3, $3, $4)
        returning number
        """

    private func insert(_ push: ClaimPlan.CodePush) async throws -> Bool {
        let (id, now, end) = (push.notification.rawValue, self.now.milliseconds, push.expiresAt.milliseconds)
        let (seed, place) = (Int64.random(in: .min ... .max), Int64.random(in: 0..<256))
        return try await self.tx.query(Self.insertNotification, id, self.user, seed, now, end, place).count == 1
    }

    /// Inserts the notification that pushes a code to the claimed handle. It counts towards the
    /// user's stored notifications until it is deleted, like any other row of `notification`. Its
    /// place in the order of notifications is computed from the time, as for a post.
    private static let insertNotification = """
        with new as (
            insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, sequence, seed,
                created_at, expires_at)
            values ($1, $2, false, false, 'high',
                ((extract(epoch from clock_timestamp()) * 1000000)::bigint << 8) | $6, $3, $4, $5)
            on conflict (id) do nothing returning id, sender_id),
        used as (
            insert into usage (user_id, notifications, bytes) select sender_id, 1, 0 from new
            on conflict (user_id) do update set notifications = usage.notifications + 1)
        select id from new
        """

    /// Enqueues the push of a confirmation code, and cancels the push of an earlier code.
    private func enqueue(_ push: ClaimPlan.CodePush, to claim: Int64, _ values: HandleValues) async throws {
        let (reason, lane) = (PushReason.replacedConfirmation, values.registration.lane.description)
        try await self.tx.cancelPushes(ofDevices: [claim], reason: reason, now: self.now)
        let (id, due) = (push.notification.rawValue, push.due.milliseconds)
        _ = try await self.tx.query(Self.insertPush, id, claim, self.user, lane, due, values.key)
        self.tx.count(.enqueued, lane: lane)
    }

    private static let insertPush = """
        with enqueued as (
            insert into push (notification_id, device, user_id, lane, is_bulk, due_at)
            values ($1, $2, $3, $4, false, $5))
        insert into confirmation (handle_key, user_id, notification_id, pushed_at) values ($6, $3, $1, $5)
        on conflict (handle_key) do update set notification_id = excluded.notification_id,
            pushed_at = excluded.pushed_at, failures = 0, is_used = false
        """
}
