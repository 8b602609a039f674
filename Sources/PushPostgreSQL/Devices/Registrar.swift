internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Registers devices of one user within one transaction. It locks the user's row first, so the
/// user's registrations run one after the other on all servers.
struct Registrar {
    let tx: WriteTransaction
    let sealing: Sealing
    let user: User
    /// The token that the request has presented, if any.
    let token: TokenPrefix?
    /// The request and the registration; `Registrar` derives the entries of the audit from it.
    let record: AuditRecord?
    let bounds: StorageBounds?
    /// The largest number of pushes that move to the device's new lane in this transaction.
    let page: Int
    let now: Date

    /// Another transaction has registered the handle since this one searched for its holder.
    struct HandleTaken: Error {}

    /// The reason why an id cannot be used. It is the same whether another account has the id or
    /// nobody has, so guessing ids reveals nothing.
    static let notIssued = "the registration id was not issued to this user"

    /// Stores the registration, or a claim to its handle; also returns the number of the device if
    /// it is registered.
    func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID
    ) async throws -> (outcome: RegisterOutcome, device: Int64?) {
        try await self.lockUser()
        guard try await self.isSignedIn() else { return (.signedOut, nil) }
        let key = self.sealing.index.hash(registration.handle)
        if let confirmation = registration.confirmation {
            guard let issued = try await self.issued(id) else { return (.gone(reason: Self.notIssued), nil) }
            if let reason = issued.retiredReason { return (.gone(reason: reason), nil) }
            if try await !self.isHeld(key, registration.platform) {
                return (try await self.claim(registration, for: issued, confirmation), nil)
            }
        }
        let platform = registration.platform.description
        let rows = try await self.tx.query(
            DeviceRow.issuedAndHolder,
            id.description,
            self.user.id,
            platform,
            key,
            registration.isShared
        ).map(DeviceRow.init)
        guard let issued = rows.first(where: { $0.id == id.description && $0.user == self.user.id }) else {
            return (.gone(reason: Self.notIssued), nil)
        }
        if let reason = issued.retiredReason { return (.gone(reason: reason), nil) }
        let holders = rows.filter { $0.platform == platform && $0.handleKey == key }
        let moved = try await self.take(registration, for: issued, from: holders)
        return moved.map { (.registered(moved: $0), issued.number) } ?? (.tooMany, nil)
    }

    /// Registers the handle for the device, and retires the devices that had it before. Returns
    /// how many pushes have moved to the new lane, or `nil` if the user has too many devices.
    func take(
        _ registration: DeviceRegistration,
        for issued: DeviceRow,
        from holders: [DeviceRow]
    ) async throws -> Int? {
        let holders = holders.filter { $0.number != issued.number }
        // A device that is already registered does not increase the number.
        if issued.lane == nil {
            let replaced = holders.first { $0.user == self.user.id }
            if try await self.areDevicesUsedUp(butFor: replaced?.number) { return nil }
        }
        for holder in holders { try await self.retire(holder, registration.platform) }
        let key = self.sealing.index.hash(registration.handle)
        let keptLane = self.keptLane(of: issued, key, registration)
        var registration = registration
        if let keptLane { registration.lane = keptLane }
        if let claim = issued.claim { try await PostgreSQLStore.delete(self.tx, devices: [claim]) }
        try await self.save(registration, as: issued, isMovable: keptLane == nil)
        self.appendToAudit(.registerDevice, registration.platform)
        guard let lane = issued.lane else { return 0 }
        let isNewLane = lane != registration.lane.description
        // Pushes accepted at another address do not show that this one works.
        if isNewLane || issued.handleKey != key { _ = try await self.tx.query(Self.forgetPush, issued.number) }
        // A device registers often, and rarely changes its lane.
        guard isNewLane else { return 0 }
        _ = try await PostgreSQLStore.wakePushes(self.tx, ofDevices: [issued.number], now: self.now)
        return try await PostgreSQLStore.moveQueued(self.tx, ofDevice: issued.number, page: self.page, now: self.now)
    }

    private static let forgetPush = "delete from device_push where device = $1"

    // MARK: Parts that claims and topics share

    func lockUser() async throws {
        // A user who was deleted meanwhile has no ids either, so the lock is not checked.
        _ = try await self.tx.query(PostgreSQLStore.lockUserID, self.user.id)
    }

    /// Whether the token is still valid after the request was admitted. Otherwise the device of an
    /// ended session would stay. A transaction that ends a session locks the user, too.
    func isSignedIn() async throws -> Bool {
        guard let token else { return true }
        return try await self.tx.query(Self.findToken, token.description).count == 1
    }

    private static let findToken = "select 1 from token where prefix = $1"

    /// The device with this id, if the id was issued to the user and is not a claim's.
    func issued(_ id: RegistrationID) async throws -> DeviceRow? {
        try await self.tx.query(DeviceRow.issued, id.description, self.user.id).first.map(DeviceRow.init)
    }

    /// The devices or claims that have the handle: those of all users, or only the user's own.
    func holders(of key: Data, _ platform: Platform, onlyOwn: Bool) async throws -> [DeviceRow] {
        try await self.tx.query(
            DeviceRow.holders,
            platform.description,
            key,
            onlyOwn ? self.user.id : nil
        ).map(DeviceRow.init)
    }

    func areDevicesUsedUp(butFor replaced: Int64?) async throws -> Bool {
        guard let bounds = self.bounds else { return false }
        let counted = try await self.tx.query(Self.countDevices, self.user.id, replaced, bounds.devices)
        return try counted.first.map { try $0.integer(0) } ?? 0 >= bounds.devices
    }

    static let countDevices = """
        select count(*) from (
            select 1 from device
            where user_id = $1 and handle is not null and claims_for is null and number is distinct from $2 limit $3) d
        """

    /// Adds an action of the user to the audit, about the registration that the user requests.
    func appendToAudit(_ action: AuditRecord.Action, _ platform: Platform) {
        guard let record else { return }
        self.tx.append(record.another(action, of: record.subject, detail: platform.description))
    }

    /// Writes only changed tags: a device registers often, with the same tags.
    func replaceTags(of device: Int64, by tags: Set<Data>) async throws {
        let old = Set(try await self.tx.query(Self.tagsOfDevice, device).map { try $0.data(0) })
        let (gone, new) = (old.subtracting(tags), tags.subtracting(old))
        if !gone.isEmpty { _ = try await self.tx.query(Self.removeTags, device, Array(gone)) }
        if !new.isEmpty { _ = try await self.tx.query(Self.addTags, device, Array(new)) }
    }

    private static let tagsOfDevice = "select tag from device_tag where device = $1"
    private static let removeTags = "delete from device_tag where device = $1 and tag = any($2::bytea[])"
    private static let addTags = """
        insert into device_tag (device, tag) select $1, t.tag from pg_catalog.unnest($2::bytea[]) as t (tag) on conflict do nothing
        """

    /// Writes the columns that a device and a claim have in common.
    func save(
        _ registration: DeviceRegistration,
        tags: Set<Tag>,
        key: Data,
        as number: Int64,
        at date: Date,
        with token: TokenPrefix?,
        isMovable: Bool
    ) async throws {
        do {
            _ = try await self.tx.query(
                Self.saveDevice,
                number,
                date.milliseconds,
                registration.platform.description,
                registration.lane.description,
                try self.sealing.seal(registration.handle.value, in: .handle(number)),
                key,
                try self.sealing.seal(tags, in: .tags(number)),
                isMovable,
                registration.isShared,
                token?.description
            )
        } catch DatabaseError.refused(code: "23505", _) {
            throw HandleTaken()
        }
    }

    private static let saveDevice = """
        update device set registered_at = $2, platform = $3, lane = $4, handle = $5, handle_key = $6, tags = $7,
            environment_moves = case when $8 then 0 else environment_moves end, is_shared = $9,
            session = (select prefix from token where prefix = $10 and is_session), session_at = $2
        where number = $1
        """

    // MARK: - Private

    /// The lane that the device was moved to since it first registered the handle; `nil` if it was
    /// not moved. In the other lane, the provider would refuse it and it would move again after
    /// each registration.
    private func keptLane(of issued: DeviceRow, _ key: Data, _ registration: DeviceRegistration) -> Lane? {
        guard let other = registration.otherLane, issued.lane == other.description else { return nil }
        return issued.environmentMoves == 1 && issued.handleKey == key ? other : nil
    }

    private func isHeld(_ key: Data, _ platform: Platform) async throws -> Bool {
        let rows = try await self.tx.query(DeviceRow.isHeld, self.user.id, platform.description, key)
        return try rows.first?.boolean(0) ?? false
    }

    private func retire(_ holder: DeviceRow, _ platform: Platform) async throws {
        guard holder.user != self.user.id else {
            return try await PostgreSQLStore.retire(
                self.tx,
                devices: [holder.number],
                ofUser: holder.user,
                reason: "the handle was registered again",
                now: self.now
            )
        }
        try await PostgreSQLStore.retire(
            self.tx,
            devices: [holder.number],
            ofUser: holder.user,
            reason: MovedDevice.reason,
            moved: platform,
            now: self.now
        )
        guard let record else { return }
        let name = try await self.tx.query(Self.nameOfUser, holder.user).first?.data(0)
        // A damaged name must not keep the new owner from registering; the audit then names the
        // registration.
        let owner = name.flatMap { try? self.sealing.username($0, ofUser: holder.user) }
        let detail = owner.map { "\(platform), from \($0)" } ?? platform.description
        self.tx.append(record.another(.moveDevice, of: holder.id, detail: detail))
    }

    private static let nameOfUser = "select name from account where id = $1"

    private func save(_ registration: DeviceRegistration, as issued: DeviceRow, isMovable: Bool) async throws {
        let tags = registration.tags.union([Tag(of: self.user.name)])
        try await self.save(
            registration,
            tags: tags,
            key: self.sealing.index.hash(registration.handle),
            as: issued.number,
            at: self.now,
            with: self.token,
            isMovable: isMovable
        )
        try await self.replaceTags(of: issued.number, by: Set(tags.map(self.sealing.index.hash)))
    }
}
