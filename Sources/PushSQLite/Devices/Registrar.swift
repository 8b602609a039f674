internal import Foundation
internal import GRDB
internal import PushCore
internal import PushStore

/// Registers devices of one user, each within one transaction.
struct Registrar: Sendable {
    let writer: Writer
    let pusher: Pusher
    let audit: AuditTrail
    let user: User
    /// The token that the user has presented, if any.
    let token: TokenPrefix?
    /// The caller and the requested registration, for the audit's records.
    let record: AuditRecord?
    let bounds: StorageBounds?
    /// The largest number of pushes that move to the device's new lane in this transaction.
    let page: Int
    let now: Date

    var sealing: Sealing { self.pusher.sealing }

    /// A registration id of the user.
    struct IssuedID {
        let number: Int64
        let id: RegistrationID
        let retiredReason: String?
        /// These are `nil` until the device has registered a handle.
        let platform: String?
        let lane: String?
        let handleKey: Data?
        /// The number of moves to the platform's other environment since it registered the handle.
        let environmentMoves: Int64
    }

    /// A device that has a handle registered.
    struct Holder {
        let number: Int64
        let id: String
        let user: Int64
    }

    /// Why an id cannot be used. The text is the same if another account has the id or nobody, so
    /// that guessing an id reveals nothing.
    static let notIssued = "the registration id was not issued to this user"

    /// Stores the registration, or a claim to its handle; also returns the number of the device if
    /// it is registered.
    func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        _ db: Database
    ) throws -> (outcome: RegisterOutcome, device: Int64?) {
        guard try self.isSignedIn(db) else { return (.signedOut, nil) }
        guard let issued = try self.issued(id, db) else { return (.gone(reason: Self.notIssued), nil) }
        if let reason = issued.retiredReason { return (.gone(reason: reason), nil) }
        let key = self.sealing.index.hash(registration.handle)
        if let confirmation = registration.confirmation, try !self.isHeld(key, registration.platform, db) {
            return (try self.claim(registration, for: issued, confirmation, db), nil)
        }
        let moved = try self.take(registration, for: issued, db)
        return moved.map { (.registered(moved: $0), issued.number) } ?? (.tooMany, nil)
    }

    /// Registers the handle for the device, and retires the devices that had it before. Returns
    /// how many pushes have moved along, or `nil` if the user has too many devices.
    func take(_ registration: DeviceRegistration, for issued: IssuedID, _ db: Database) throws -> Int? {
        let key = self.sealing.index.hash(registration.handle)
        let holders = try self.holders(of: key, registration, db).filter { $0.number != issued.number }
        // A device that is already registered does not add to the number.
        if issued.lane == nil {
            let replaced = holders.first { $0.user == self.user.id }
            if try self.areDevicesUsedUp(db, butFor: replaced?.number) { return nil }
        }
        for holder in holders { try self.retire(holder, registration.platform, db) }
        let keptLane = self.keptLane(of: issued, key, registration)
        var registration = registration
        if let keptLane { registration.lane = keptLane }
        let claims = try db.run(prepared: SQLiteStore.endClaim, issued.number)
        if !holders.isEmpty || issued.lane != nil || claims > 0 { self.writer.recordErasure() }
        try self.save(registration, as: issued.number, db)
        if issued.environmentMoves > 0, keptLane == nil {
            try db.run(prepared: "update device set environment_moves = 0 where number = ?", issued.number)
        }
        try self.appendToAudit(.registerDevice, registration.platform, db)
        guard let lane = issued.lane else { return 0 }
        let isNewLane = lane != registration.lane.description
        // Pushes accepted at another address do not count for this one.
        if isNewLane || issued.handleKey != key {
            try db.run(prepared: "delete from device_push where device = ?", issued.number)
        }
        // A device registers often, and rarely changes its lane.
        guard isNewLane else { return 0 }
        try SQLiteStore.unpark(device: issued.number, db, now: self.now)
        return try SQLiteStore.moveQueued(db, ofDevice: issued.number, page: self.page, now: self.now)
    }

    /// The lane that the device was moved to since it first registered the handle; `nil` if it was
    /// not moved. In the registered lane, each registration would cause a refusal and another
    /// move.
    private func keptLane(of issued: IssuedID, _ key: Data, _ registration: DeviceRegistration) -> Lane? {
        guard let other = registration.otherLane, issued.lane == other.description else { return nil }
        return issued.environmentMoves == 1 && issued.handleKey == key ? other : nil
    }

    /// Whether the token has not ended since the server admitted the request: the end of a session
    /// could not retire a device that registers after it.
    func isSignedIn(_ db: Database) throws -> Bool {
        guard let token else { return true }
        return try db.first(prepared: "select 1 from token where prefix = ?", token.description) { _ in true } == true
    }

    /// The id, if it was issued to the user and is not a claim's.
    func issued(_ id: RegistrationID, _ db: Database) throws -> IssuedID? {
        try db.first(
            prepared: """
                select number, retired_reason, platform, lane, handle_key, environment_moves from device
                where id = ? and user_id = ? and claims_for is null
                """,
            id.description,
            self.user.id
        ) { row in
            IssuedID(
                number: row.integer(0),
                id: id,
                retiredReason: row.optionalText(1),
                platform: row.optionalText(2),
                lane: row.optionalText(3),
                handleKey: row.isNull(4) ? nil : row.data(4),
                environmentMoves: row.integer(5)
            )
        }
    }

    /// The user's device or claim with the handle.
    func own(_ key: Data, _ platform: Platform, _ db: Database) throws -> Int64? {
        try db.first(prepared: Self.own, platform.description, key, self.user.id) { $0.integer(0) }
    }

    static let own = "select number from device where platform = ? and handle_key = ? and user_id = ?"

    /// The devices with the same handle that the registration replaces: those of all users, or
    /// only the user's own if it is shared.
    private func holders(of key: Data, _ registration: DeviceRegistration, _ db: Database) throws -> [Holder] {
        try db.all(
            prepared: Self.holders,
            registration.platform.description,
            key,
            registration.isShared ? self.user.id : nil
        ) { Holder(number: $0.integer(0), id: $0.text(1), user: $0.integer(2)) }
    }

    static let holders = """
        select number, id, user_id from device
        where platform = ?1 and handle_key = ?2 and (?3 is null or user_id = ?3) order by number
        """

    /// Whether the user has a device with the handle. It reads no other user's rows, so that its
    /// duration reveals nothing of them.
    private func isHeld(_ key: Data, _ platform: Platform, _ db: Database) throws -> Bool {
        try db.first(prepared: Self.held, self.user.id, platform.description, key) { _ in true } == true
    }

    static let held = """
        select 1 from device indexed by device_by_user where user_id = ? and platform = ? and handle_key = ? limit 1
        """

    func areDevicesUsedUp(_ db: Database, butFor replaced: Int64?) throws -> Bool {
        try self.bounds?.isUsedUp(db, byDevicesOf: self.user.id, butFor: replaced) ?? false
    }

    /// Adds an action of the user to the audit, for the registration of the request.
    func appendToAudit(_ action: AuditRecord.Action, _ platform: Platform, _ db: Database) throws {
        guard let record else { return }
        try self.audit.append(record.another(action, of: record.subject, detail: platform.description), to: db)
    }

    // MARK: - Private

    private func retire(_ holder: Holder, _ platform: Platform, _ db: Database) throws {
        guard holder.user != self.user.id else {
            let reason = "the handle was registered again"
            return try SQLiteStore.retire(db, device: holder.number, reason: reason, now: self.now)
        }
        try SQLiteStore.retire(
            db,
            device: holder.number,
            reason: MovedDevice.reason,
            moved: platform,
            now: self.now
        )
        guard let record else { return }
        let name = try db.first(prepared: "select name from user where id = ?", holder.user) { $0.data(0) }
        // A damaged name must not keep the new owner from registering; the audit names the
        // registration then.
        let owner = name.flatMap { try? self.sealing.username($0, ofUser: holder.user) }
        let detail = owner.map { "\(platform), from \($0)" } ?? platform.description
        try self.audit.append(record.another(.moveDevice, of: holder.id, detail: detail), to: db)
    }

    private func save(_ registration: DeviceRegistration, as number: Int64, _ db: Database) throws {
        let tags = registration.tags.union([Tag(of: self.user.name)])
        try self.save(
            registration,
            tags: tags,
            key: self.sealing.index.hash(registration.handle),
            as: number,
            at: self.now,
            db
        )
        try db.run(
            prepared: """
                update device set session = (select prefix from token where prefix = ? and is_session) where number = ?
                """,
            self.token?.description,
            number
        )
        try self.replaceTags(of: number, by: Set(tags.map(self.sealing.index.hash)), db)
    }

    /// Writes only what has changed: a device registers often, with the same tags.
    func replaceTags(of device: Int64, by tags: Set<Data>, _ db: Database) throws {
        let old = Set(try db.all(prepared: "select tag from device_tag where device = ?", device) { $0.data(0) })
        for tag in old.subtracting(tags) {
            try db.run(prepared: "delete from device_tag where device = ? and tag = ?", device, tag)
        }
        for tag in tags.subtracting(old) {
            try db.run(prepared: "insert into device_tag (device, tag) values (?, ?)", device, tag)
        }
    }

    /// Writes the columns that a device and a claim have in common.
    func save(
        _ registration: DeviceRegistration,
        tags: Set<Tag>,
        key: Data,
        as number: Int64,
        at date: Date,
        _ db: Database
    ) throws {
        try db.run(
            prepared: """
                update device set registered_at = ?, platform = ?, lane = ?, handle = ?, handle_key = ?, tags = ?,
                    is_shared = ?
                where number = ?
                """,
            date.milliseconds,
            registration.platform.description,
            registration.lane.description,
            try self.sealing.seal(registration.handle.value, in: .handle(number)),
            key,
            try self.sealing.seal(tags, in: .tags(number)),
            registration.isShared,
            number
        )
    }
}
