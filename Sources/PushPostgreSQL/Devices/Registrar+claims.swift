internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Handles that can be guessed: a user who registers one must return a code that is pushed to it.
///
/// A claim is a row of `device` that no audience includes. So the push of its code is sent as any
/// other push is, with the lane's rate, retries, health and signature.
extension Registrar {
    /// Stores a claim of the device to the handle, and a push of a new code. Skips the push if the
    /// last code was pushed a short time ago.
    ///
    /// Reads nothing that depends on other users' registrations.
    func claim(
        _ registration: DeviceRegistration,
        for issued: DeviceRow,
        _ notification: NotificationID
    ) async throws -> RegisterOutcome {
        let platform = registration.platform
        let key = self.sealing.index.hash(registration.handle, on: platform, claimedBy: self.user.id)
        let last = try await self.confirmation(of: key)
        if last == nil, let until = try await self.nextClaim() { return .tooManyClaims(until: until) }
        if issued.lane == nil, try await self.areDevicesUsedUp(butFor: nil) { return .tooMany }
        let earlier = try await self.holders(of: key, platform, onlyOwn: true).first?.number
        // Without the earlier claim, its push was cancelled, so its code may not have arrived.
        let isPushed = earlier != nil && last?.isJustPushed(self.now) == true && last?.isGood(self.now) == true
        let due = isPushed ? nil : last?.nextPush(self.now) ?? self.now
        // Inserts first, so that nothing has changed if the id is taken.
        if let due, try await !self.insert(notification, at: due) { return .idTaken }
        if let claim = issued.claim, claim != earlier { try await PostgreSQLStore.delete(self.tx, devices: [claim]) }
        let number = try await self.claimRow(earlier, for: issued.number)
        try await self.save(
            registration,
            tags: registration.tags,
            key: key,
            as: number,
            at: due ?? last?.pushedAt ?? self.now,
            with: nil,
            isMovable: true
        )
        if let due { try await self.push(notification, at: due, to: number, registration.lane, key) }
        self.appendToAudit(.claimDevice, platform)
        return .unconfirmed(hasWork: due != nil)
    }

    /// Registers the claimed handle; also returns the number of the device if it is registered.
    func confirm(
        _ code: String,
        for id: RegistrationID
    ) async throws -> (outcome: ConfirmOutcome, device: Int64?) {
        try await self.lockUser()
        guard try await self.isSignedIn() else { return (.signedOut, nil) }
        guard let issued = try await self.issued(id) else { return (.missing, nil) }
        if let reason = issued.retiredReason { return (.gone(reason: reason), nil) }
        guard let claim = try await self.claimed(by: issued) else {
            return (try await self.hasConfirmed(issued, with: code) ? .registered(moved: 0) : .refused, nil)
        }
        guard let last = try await self.confirmation(of: claim.key), last.isGood(self.now),
            last.code(claim.key, self.sealing)?.matches(code) == true
        else {
            _ = try await self.tx.query(Self.countFailure, claim.key, HandleClaim.attempts)
            return (.refused, nil)
        }
        let registration = claim.registration
        let holders = try await self.holders(
            of: self.sealing.index.hash(registration.handle),
            registration.platform,
            onlyOwn: registration.isShared
        )
        guard let moved = try await self.take(registration, for: issued, from: holders) else { return (.tooMany, nil) }
        _ = try await self.tx.query(Self.useCode, claim.key)
        return (.registered(moved: moved), issued.number)
    }

    private static let countFailure =
        "update confirmation set failures = failures + 1 where handle_key = $1 and failures < $2"
    private static let useCode = "update confirmation set is_used = true where handle_key = $1"

    // MARK: - Private

    private func confirmation(of key: Data) async throws -> Confirmation? {
        try await self.tx.query(Self.lastConfirmation, key).first.map { row in
            Confirmation(
                pushedAt: Date(milliseconds: try row.integer(0)),
                isUsed: try row.boolean(1),
                notification: try row.integer(2),
                failures: try row.integer(3),
                seed: try row.optionalInteger(4)
            )
        }
    }

    private static let lastConfirmation = """
        select c.pushed_at, c.is_used, c.notification_id, c.failures, n.seed
        from confirmation c left join notification n on n.id = c.notification_id
        where c.handle_key = $1
        """

    /// The time when the user may claim another handle; `nil` for now.
    private func nextClaim() async throws -> Date? {
        let lifetime = HandleClaim.lifetime.timeInterval
        let since = (self.now - lifetime).milliseconds
        let pushes = try await self.tx.query(Self.newestPushes, self.user.id, since, HandleClaim.handles - 1)
        return try pushes.first.map { Date(milliseconds: try $0.integer(0)) + lifetime }
    }

    static let newestPushes = """
        select pushed_at from confirmation where user_id = $1 and pushed_at > $2 order by pushed_at desc limit 1 offset $3
        """

    /// The earlier claim, which now belongs to the device, or a new one.
    private func claimRow(_ earlier: Int64?, for device: Int64) async throws -> Int64 {
        if let earlier {
            _ = try await self.tx.query(Self.moveClaim, earlier, device)
            return earlier
        }
        let inserted = try await self.tx.query(
            Self.insertClaim,
            RegistrationID.random().description,
            self.user.id,
            self.now.milliseconds,
            device
        )
        guard let number = try inserted.first?.integer(0) else {
            throw StoreError.failed(reason: "a claim was not stored")
        }
        return number
    }

    private static let moveClaim = "update device set claims_for = $2 where number = $1"
    private static let insertClaim = """
        insert into device (id, user_id, created_at, registered_at, claims_for) values ($1, $2, $3, $3, $4)
        returning number
        """

    /// Inserts the notification of a code, which has neither payload nor recipients; `false` if
    /// its id is taken.
    private func insert(_ notification: NotificationID, at due: Date) async throws -> Bool {
        let inserted = try await self.tx.query(
            Self.insertNotification,
            notification.rawValue,
            self.user.id,
            Int64.random(in: .min ... .max),
            self.now.milliseconds,
            (due + HandleClaim.lifetime.timeInterval).milliseconds,
            Int64.random(in: 0..<256)
        )
        return inserted.count == 1
    }

    /// Counts towards the user's stored notifications, as each row of `notification` does until it
    /// is deleted. Its place in the order of notifications comes from the time, as in a post.
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

    /// Enqueues the push of a code, and cancels any earlier one.
    private func push(
        _ notification: NotificationID,
        at due: Date,
        to claim: Int64,
        _ lane: Lane,
        _ key: Data
    ) async throws {
        let reason = PushReason.replacedConfirmation
        try await PostgreSQLStore.cancelPushes(self.tx, ofDevices: [claim], reason: reason, now: self.now)
        _ = try await self.tx.query(
            Self.insertPush,
            notification.rawValue,
            claim,
            self.user.id,
            lane.description,
            due.milliseconds,
            key
        )
        self.tx.count(.enqueued, lane: lane.description)
    }

    private static let insertPush = """
        with enqueued as (
            insert into push (notification_id, device, user_id, lane, is_bulk, due_at)
            values ($1, $2, $3, $4, false, $5))
        insert into confirmation (handle_key, user_id, notification_id, pushed_at) values ($6, $3, $1, $5)
        on conflict (handle_key) do update set notification_id = excluded.notification_id,
            pushed_at = excluded.pushed_at, failures = 0, is_used = false
        """

    private func claimed(by issued: DeviceRow) async throws -> (registration: DeviceRegistration, key: Data)? {
        guard let number = issued.claim,
            let row = try await self.tx.query(Self.claimOf, number, issued.number).first
        else { return nil }
        guard let handle = DeviceHandle(try self.sealing.text(row.data(2), in: .handle(number))) else {
            throw VaultError.unreadable
        }
        let (name, lane) = (try row.text(0), try row.text(1))
        let tags = try self.sealing.tags(row.data(3), in: .tags(number))
        let platform = Platform(stored: name)
        let registration = DeviceRegistration(
            platform: platform,
            lane: Lane(platform, part: lane == name ? nil : String(lane.dropFirst(name.count + 1))),
            handle: handle,
            tags: Set(tags),
            isShared: try row.boolean(5)
        )
        return (registration, try row.data(4))
    }

    private static let claimOf = """
        select platform, lane, handle, tags, handle_key, is_shared from device
        where number = $1 and claims_for = $2 and handle is not null for update
        """

    /// Whether the code has registered the device's present handle: the answer to that request may
    /// have been lost.
    private func hasConfirmed(_ issued: DeviceRow, with code: String) async throws -> Bool {
        guard let platform = issued.platform, let sealed = issued.handle,
            let handle = DeviceHandle(try self.sealing.text(sealed, in: .handle(issued.number)))
        else { return false }
        let key = self.sealing.index.hash(handle, on: Platform(stored: platform), claimedBy: self.user.id)
        guard let last = try await self.confirmation(of: key), last.isUsed, !last.isExpired(self.now) else {
            return false
        }
        return last.code(key, self.sealing)?.matches(code) == true
    }
}
