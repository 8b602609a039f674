internal import Foundation
internal import GRDB
internal import PushCore
internal import PushStore

/// Handles that can be guessed: a user who registers one must return a code that is pushed to it.
///
/// A claim is a row of `device` that no audience finds, so that the push of its code takes the way
/// of all pushes: the lane's rate, retries, health and signature apply to it.
extension Registrar {
    /// Stores a claim of the device to the handle, and a push of a new code, unless the last one
    /// was pushed a short time ago.
    ///
    /// Reads nothing that depends on other users' registrations.
    func claim(
        _ registration: DeviceRegistration,
        for issued: IssuedID,
        _ notification: NotificationID,
        _ db: Database
    ) throws -> RegisterOutcome {
        let platform = registration.platform
        let key = self.sealing.index.hash(registration.handle, on: platform, claimedBy: self.user.id)
        let last = try Confirmation(db, key)
        if last == nil, let until = try self.nextClaim(db) { return .tooManyClaims(until: until) }
        if issued.lane == nil, try self.areDevicesUsedUp(db, butFor: nil) { return .tooMany }
        let earlier = try self.own(key, platform, db)
        // Without the earlier claim its push was cancelled, so its code may not have arrived.
        let isPushed = earlier != nil && last?.isJustPushed(self.now) == true && last?.isGood(self.now) == true
        let due = isPushed ? nil : last?.nextPush(self.now) ?? self.now
        // The insertion comes first, so that nothing has changed if the id is in use.
        if let due, try !self.insert(notification, at: due, db) { return .idTaken }
        try db.run(
            prepared: "delete from device where claims_for = ? and number is not ?",
            issued.number,
            earlier
        )
        let number = try earlier ?? self.insertClaim(for: issued.number, db)
        try db.run(prepared: "update device set claims_for = ? where number = ?", issued.number, number)
        let date = due ?? last?.pushedAt ?? self.now
        try self.save(registration, tags: registration.tags, key: key, as: number, at: date, db)
        self.writer.recordErasure()
        if let due { try self.push(notification, at: due, to: number, registration.lane, key, db) }
        try self.appendToAudit(.claimDevice, platform, db)
        return .unconfirmed(hasWork: due != nil)
    }

    /// Registers the claimed handle; also returns the number of the device if it is registered.
    func confirm(
        _ code: String,
        for id: RegistrationID,
        _ db: Database
    ) throws -> (outcome: ConfirmOutcome, device: Int64?) {
        guard try self.isSignedIn(db) else { return (.signedOut, nil) }
        guard let issued = try self.issued(id, db) else { return (.missing, nil) }
        if let reason = issued.retiredReason { return (.gone(reason: reason), nil) }
        guard let claim = try self.claimed(by: issued.number, db) else {
            return (try self.hasConfirmed(issued, with: code, db) ? .registered(moved: 0) : .refused, nil)
        }
        guard let last = try Confirmation(db, claim.key), last.isGood(self.now),
            last.code(claim.key, self.sealing)?.matches(code) == true
        else {
            try db.run(
                prepared: "update confirmation set failures = failures + 1 where handle_key = ? and failures < ?",
                claim.key,
                HandleClaim.attempts
            )
            return (.refused, nil)
        }
        let registration = claim.registration
        guard let moved = try self.take(registration, for: issued, db) else { return (.tooMany, nil) }
        try db.run(prepared: "update confirmation set is_used = 1 where handle_key = ?", claim.key)
        return (.registered(moved: moved), issued.number)
    }

    static let newestPushes = """
        select pushed_at from confirmation where user_id = ? and pushed_at > ? order by pushed_at desc limit 1 offset ?
        """

    // MARK: - Private

    /// When the user may claim another handle; `nil` for now.
    private func nextClaim(_ db: Database) throws -> Date? {
        let since = self.now - HandleClaim.lifetime.timeInterval
        let oldest = try db.first(
            prepared: Self.newestPushes,
            self.user.id,
            since.milliseconds,
            HandleClaim.handles - 1
        ) { Date(milliseconds: $0.integer(0)) }
        return oldest.map { $0 + HandleClaim.lifetime.timeInterval }
    }

    private func insertClaim(for device: Int64, _ db: Database) throws -> Int64 {
        let number = try db.first(
            prepared: """
                insert into device (id, user_id, created_at, registered_at, claims_for) values (?, ?, ?, ?, ?)
                returning number
                """,
            RegistrationID.random().description,
            self.user.id,
            self.now.milliseconds,
            self.now.milliseconds,
            device
        ) { $0.integer(0) }
        guard let number else { preconditionFailure("an insert that returns a number returns it or throws") }
        return number
    }

    /// Inserts the notification of a code, which has neither payload nor recipients; `false` if
    /// its id is in use.
    private func insert(_ notification: NotificationID, at due: Date, _ db: Database) throws -> Bool {
        try db.run(
            prepared: """
                insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, sequence, seed,
                    created_at, expires_at)
                values (?, ?, 0, 0, 'high', ?, ?, ?, ?) on conflict (id) do nothing
                """,
            notification.rawValue,
            self.user.id,
            self.pusher.changes.next(),
            Int64.random(in: .min ... .max),
            self.now.milliseconds,
            (due + HandleClaim.lifetime.timeInterval).milliseconds
        ) == 1
    }

    /// Enqueues the push of a code, in place of any earlier one.
    private func push(
        _ notification: NotificationID,
        at due: Date,
        to claim: Int64,
        _ lane: Lane,
        _ key: Data,
        _ db: Database
    ) throws {
        let reason = PushReason.replacedConfirmation
        try SQLiteStore.cancel(db, where: "device = \(claim) and due_at is not null", reason: reason, now: self.now)
        try db.run(
            prepared: """
                insert into delivery (notification_id, device, user_id, lane, is_bulk, state, due_at)
                values (?, ?, ?, ?, 0, 'queued', ?)
                """,
            notification.rawValue,
            claim,
            self.user.id,
            lane.description,
            due.milliseconds
        )
        self.pusher.notes.count(.enqueued, lane: lane.description)
        try db.run(
            prepared: """
                insert into confirmation (handle_key, user_id, notification_id, pushed_at) values (?, ?, ?, ?)
                on conflict (handle_key) do update set notification_id = excluded.notification_id,
                    pushed_at = excluded.pushed_at, failures = 0, is_used = 0
                """,
            key,
            self.user.id,
            notification.rawValue,
            due.milliseconds
        )
    }

    private func claimed(by device: Int64, _ db: Database) throws -> (registration: DeviceRegistration, key: Data)? {
        let row = try db.first(
            prepared: """
                select number, platform, lane, handle, tags, handle_key, is_shared from device where claims_for = ?
                """,
            device
        ) {
            (
                number: $0.integer(0), platform: $0.text(1), lane: $0.text(2), handle: $0.data(3), tags: $0.data(4),
                key: $0.data(5), isShared: $0.integer(6) != 0
            )
        }
        guard let row else { return nil }
        guard let handle = DeviceHandle(try self.sealing.text(row.handle, in: .handle(row.number))) else {
            throw VaultError.unreadable
        }
        let tags = try self.sealing.tags(row.tags, in: .tags(row.number))
        let platform = Platform(stored: row.platform)
        let part = row.lane == row.platform ? nil : String(row.lane.dropFirst(row.platform.count + 1))
        let registration = DeviceRegistration(
            platform: platform,
            lane: Lane(platform, part: part),
            handle: handle,
            tags: Set(tags),
            isShared: row.isShared
        )
        return (registration, row.key)
    }

    /// Whether the code has registered the device's present handle: the answer to that request may
    /// have been lost.
    private func hasConfirmed(_ issued: IssuedID, with code: String, _ db: Database) throws -> Bool {
        guard let platform = issued.platform else { return false }
        let sealed = try db.first(prepared: "select handle from device where number = ?", issued.number) { $0.data(0) }
        guard let sealed, let handle = DeviceHandle(try self.sealing.text(sealed, in: .handle(issued.number))) else {
            return false
        }
        let key = self.sealing.index.hash(handle, on: Platform(stored: platform), claimedBy: self.user.id)
        guard let last = try Confirmation(db, key), last.isUsed, !last.isExpired(self.now) else { return false }
        return last.code(key, self.sealing)?.matches(code) == true
    }
}
