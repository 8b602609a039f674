internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension Registrar {
    /// Writes the plan of a registration. Returns the number of pushes that have moved to the
    /// device's new lane (a provider's queue).
    func write(_ plan: RegistrationPlan, _ db: Database) throws -> Int {
        for old in plan.retired {
            if old.user == self.user { try self.moveLook(from: old.device, to: plan.device, db) }
            try SQLiteStore.retire(old.device, reason: old.reason, moved: old.platform, db, now: self.now)
        }
        if plan.isErasing { self.writer.recordErasure() }
        if let claim = plan.claim { try db.run(SQL(sql: Self.deleteRow), claim) }
        try self.save(plan.values, as: plan.device, db)
        try db.run(SQL(sql: Self.makeLookDue), self.now.milliseconds, plan.device)
        try self.replaceTags(of: plan.device, by: plan.values.tags, db)
        try self.audit.append(plan.records, to: db)
        if plan.forgetsPushes { try db.run("delete from device_push where device = \(plan.device)") }
        if let key = plan.usedCode {
            try db.run("update confirmation set is_used = 1 where handle_key = \(key)")
        }
        guard plan.movesPushes else { return 0 }
        while try SQLiteStore.wake([plan.device], ofUser: self.user, db, now: self.now) == WakePace.page {}
        return try self.pusher.moveQueued(ofDevice: plan.device, page: self.page, db, now: self.now)
    }

    /// Writes the plan of a user's claim to a handle, which the user must confirm with a pushed
    /// code. Returns `false`, and writes nothing, if the id of the code's notification is in use.
    func write(_ plan: ClaimPlan, _ db: Database) throws -> Bool {
        if let push = plan.push, try !self.insert(push, db) { return false }
        if let claim = plan.ended { try db.run(SQL(sql: Self.deleteRow), claim) }
        let number = try plan.earlier ?? self.insertClaim(for: plan.device, db)
        try db.run("update device set claims_for = \(plan.device) where number = \(number)")
        try self.save(plan.values, as: number, db)
        self.writer.recordErasure()
        if let push = plan.push { try self.enqueue(push, to: number, plan.values, db) }
        try self.audit.append([plan.record], to: db)
        return true
    }

    // MARK: - Private

    /// If the device's look (a push that tells it to sync) waits for a retry, makes the look due:
    /// the device may be reachable again.
    private static let makeLookDue = """
        update push set due_at = ?1
        where device = ?2 and notification_id = (select look_id from device where number = ?2)
            and state = 'queued' and attempts > 0 and due_at > ?1
        """

    /// Moves the waiting look (a push that tells a device to sync) of the user's earlier device
    /// with the same handle. It moves only to a device that never had a look.
    private func moveLook(from old: Int64, to new: Int64, _ db: Database) throws {
        guard try db.run(SQL(sql: Self.moveLookPush), old, new) > 0 else { return }
        try db.run(SQL(sql: Self.copyLook), old, new)
    }

    private static let moveLookPush = """
        update push set device = ?2
        where device = ?1 and notification_id = (select look_id from device where number = ?1) and state = 'queued'
            and (select look_id from device where number = ?2) is null
        """
    private static let copyLook = """
        update device set (look_id, look_at) = (select look_id, look_at from device where number = ?1) where number = ?2
        """

    static let deleteRow = "delete from device where number = ?"

    private func save(_ values: HandleValues, as number: Int64, _ db: Database) throws {
        let registration = values.registration
        try db.run(
            """
            update device set registered_at = \(values.at.milliseconds),
                platform = \(registration.platform.description), lane = \(registration.lane.description),
                handle = \(self.sealing.seal(registration.handle.value, in: .handle(number))),
                handle_key = \(values.key), tags = \(self.sealing.seal(values.tags, in: .tags(number))),
                is_shared = \(registration.isShared),
                environment_moves = case when \(values.isMovable) then 0 else environment_moves end,
                session = (select prefix from token where prefix = \(values.token?.description) and is_session)
            where number = \(number)
            """
        )
    }

    private func insertClaim(for device: Int64, _ db: Database) throws -> Int64 {
        let number = try db.number(
            """
            insert into device (id, user_id, created_at, registered_at, claims_for)
            values (\(RegistrationID.random().description), \(self.user), \(self.now.milliseconds),
                \(self.now.milliseconds), \(device))
            returning number
            """
        )
        guard let number else { preconditionFailure("an insert that returns a number returns it or throws") }
        return number
    }

    private func insert(_ push: ClaimPlan.CodePush, _ db: Database) throws -> Bool {
        try db.run(
            """
            insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, sequence, seed,
                created_at, expires_at)
            values (\(push.notification.rawValue), \(self.user), 0, 0, 'high', \(self.pusher.changes.next()),
                \(Int64.random(in: .min ... .max)), \(self.now.milliseconds), \(push.expiresAt.milliseconds))
                on conflict (id) do nothing
            """
        ) == 1
    }

    /// Enqueues the push of a confirmation code, and cancels the push of an earlier code.
    private func enqueue(_ push: ClaimPlan.CodePush, to claim: Int64, _ values: HandleValues, _ db: Database) throws {
        let (reason, lane) = (PushReason.replacedConfirmation, values.registration.lane.description)
        try SQLiteStore.cancel(db, where: "device = \(claim) and due_at is not null", reason: reason, now: self.now)
        try db.run(
            """
            insert into push (notification_id, device, user_id, lane, is_bulk, state, due_at)
            values (\(push.notification.rawValue), \(claim), \(self.user), \(lane), 0, 'queued',
                \(push.due.milliseconds))
            """
        )
        self.pusher.notes.count(.enqueued, lane: lane)
        try db.run(
            """
            insert into confirmation (handle_key, user_id, notification_id, pushed_at)
            values (\(values.key), \(self.user), \(push.notification.rawValue), \(push.due.milliseconds))
            on conflict (handle_key) do update set notification_id = excluded.notification_id,
                pushed_at = excluded.pushed_at, failures = 0, is_used = 0
            """
        )
    }
}
