package import Foundation
internal import GRDB
package import PushCore
package import PushStore

extension SQLiteStore {
    /// The most registration ids of a user without a handle; older ones are deleted.
    private static let unusedLimit = 20

    package func requestRegistration(
        ofUser user: Int64,
        handle: DeviceHandle?,
        now: Date
    ) async throws -> RegistrationID {
        try await self.writer.write { [writer, sealing] db in
            if let handle {
                let key = sealing.index.hash(handle)
                if let id = try Self.reuseRegistration(db, user: user, handleKey: key, writer) { return id }
            }
            let id = RegistrationID.random()
            try db.execute(
                sql: "insert into device (id, user_id, created_at, registered_at) values (?, ?, ?, ?)",
                arguments: [id.description, user, now.milliseconds, now.milliseconds]
            )
            try db.execute(
                sql: """
                    delete from device where user_id = ?1 and handle is null and retired_at is null and id not in (
                        select id from device where user_id = ?1 and handle is null and retired_at is null
                        order by created_at desc, number desc limit ?2)
                    """,
                arguments: [user, Self.unusedLimit]
            )
            return id
        }
    }

    package func register(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        for user: User,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        page: Int?,
        now: Date
    ) async throws -> RegisterOutcome {
        let page = page ?? Self.fanoutPage
        let (outcome, device) = try await self.save(
            registration,
            as: id,
            for: user,
            by: record,
            within: bounds,
            page: page,
            now: now
        )
        guard let device, case .registered(var moved) = outcome else { return outcome }
        // Each further page has its own transaction: a push that is claimed before its page is moved then.
        var last = moved
        while last == page {
            last = try await self.writer.write { try Self.moveQueued($0, ofDevice: device, page: page, now: now) }
            moved += last
        }
        return .registered(moved: moved)
    }

    /// Stores the registration, and moves the first page of pushes; also returns the device's number.
    private func save(
        _ registration: DeviceRegistration,
        as id: RegistrationID,
        for user: User,
        by record: AuditRecord?,
        within bounds: StorageBounds?,
        page: Int,
        now: Date
    ) async throws -> (RegisterOutcome, device: Int64?) {
        let (userID, userTag) = (user.id, Tag(of: user.name))
        return try await self.write { [writer, sealing] db in
            let known = try Row.fetchOne(
                db.cachedStatement(sql: "select user_id, retired_reason, lane, handle_key from device where id = ?"),
                arguments: [id.description]
            )
            if let reason = try known?["retired_reason"] as String? { return (.gone(reason: reason), nil) }
            if let known, try known["user_id"] != userID {
                return (.gone(reason: "the registration id was not issued to this account"), nil)
            }
            let key = sealing.index.hash(registration.handle)
            let holder = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        select number, user_id from device
                        where platform = ? and handle_key = ? and id <> ?
                        """
                ),
                arguments: [registration.platform.description, key, id.description]
            )
            let oldLane = try known?["lane"] as String?
            // A device that is already registered does not add to the number.
            if oldLane == nil, try bounds?.isUsedUp(db, byDevicesOf: userID, butFor: holder?["number"]) ?? false {
                return (.tooMany, nil)
            }
            if let holder {
                // An id that was never issued must not take an address from another user.
                if known == nil, try holder["user_id"] != userID {
                    return (.gone(reason: "the handle is registered to another account"), nil)
                }
                try Self.retire(db, device: holder["number"], reason: "the handle was registered again", now: now)
            }
            if holder != nil || known != nil { writer.noteErasure() }
            let device = try Self.save(db, registration, sealing, id: id, user: userID, userTag: userTag, now: now)
            // Pushes accepted at another address say nothing about this one.
            let oldKey = try known?["handle_key"] as Data?
            if let oldLane, oldLane != registration.lane.description || oldKey != key {
                try db.cachedStatement(sql: "delete from device_push where device = ?").execute(arguments: [device])
            }
            // A device registers often, and rarely changes its lane.
            guard let oldLane, oldLane != registration.lane.description else { return (.registered(moved: 0), device) }
            try Self.unpark(device: device, db, now: now)
            return (.registered(moved: try Self.moveQueued(db, ofDevice: device, page: page, now: now)), device)
        } noting: { (_, device) in
            device == nil ? nil : record
        }
    }

    package func unregister(
        _ id: RegistrationID,
        ofUser user: Int64,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.write(by: record) { [writer] db in
            let owner = try Int64.fetchOne(
                db.cachedStatement(sql: "select user_id from device where id = ?"),
                arguments: [id.description]
            )
            guard let owner else { return true }
            guard owner == user else { return false }
            try db.execute(sql: "delete from device where id = ?", arguments: [id.description])
            writer.noteErasure()
            return true
        }
    }

    package func retire(
        device: Int64,
        handle: String,
        in lane: Lane,
        reason: String,
        since: Date,
        now: Date
    ) async throws -> Bool {
        let key = DeviceHandle(handle).map(self.sealing.index.hash)
        return try await self.writer.write { [writer] db in
            let isAsItWas = try Bool.fetchOne(
                db.cachedStatement(
                    sql: """
                        select lane = ? and handle_key = ? and registered_at <= ?
                        from device where number = ? and retired_at is null
                        """
                ),
                arguments: [lane.description, key, since.milliseconds, device]
            )
            guard isAsItWas == true else { return false }
            try Self.retire(db, device: device, reason: reason, now: now)
            writer.noteErasure()
            return true
        }
    }

    // MARK: - Private

    private static func reuseRegistration(
        _ db: Database,
        user: Int64,
        handleKey: Data,
        _ writer: Writer
    ) throws -> RegistrationID? {
        let ids = try String.fetchAll(
            db,
            sql: """
                select id from device where user_id = ? and handle_key = ?
                order by registered_at desc, id
                """,
            arguments: [user, handleKey]
        )
        for double in ids.dropFirst() {
            try db.execute(sql: "delete from device where id = ?", arguments: [double])
            writer.noteErasure()
        }
        return ids.first.flatMap(RegistrationID.init)
    }

    /// The number of tombstones kept for each user; a deleted one's id may be registered again.
    private static let tombstoneLimit = 100

    private static func retire(_ db: Database, device: Int64, reason: String, now: Date) throws {
        try db.execute(
            sql: """
                update device set retired_at = ?, retired_reason = ?,
                    platform = null, lane = null, handle = null, handle_key = null, tags = null
                where number = ?
                """,
            arguments: [now.milliseconds, reason, device]
        )
        try Self.unpark(device: device, db, now: now)
        try Self.cancel(db, where: "device = \(device) and due_at is not null", reason: reason, now: now)
        try db.execute(sql: "delete from device_tag where device = ?", arguments: [device])
        // This uses an index, because a user may have many devices.
        try db.cachedStatement(
            sql: """
                delete from device where number in (
                    select number from device
                    where user_id = (select user_id from device where number = ?) and retired_at is not null
                    order by retired_at desc limit -1 offset ?)
                """
        ).execute(arguments: [device, Self.tombstoneLimit])
    }

    private static func save(
        _ db: Database,
        _ registration: DeviceRegistration,
        _ sealing: Sealing,
        id: RegistrationID,
        user: Int64,
        userTag: Tag,
        now: Date
    ) throws -> Int64 {
        // The number first, because the values stored next are sealed to it.
        let number = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    insert into device (id, user_id, created_at, registered_at) values (?1, ?2, ?3, ?3)
                    on conflict (id) do update set registered_at = excluded.registered_at
                    returning number
                    """
            ),
            arguments: [id.description, user, now.milliseconds]
        )
        guard let number else { preconditionFailure("an insert that returns a number returns it or throws") }
        let tags = registration.tags.union([userTag])
        try db.cachedStatement(
            sql: "update device set platform = ?, lane = ?, handle = ?, handle_key = ?, tags = ? where number = ?"
        ).execute(arguments: [
            registration.platform.description, registration.lane.description,
            try sealing.seal(registration.handle.value, in: .handle(number)), sealing.index.hash(registration.handle),
            try sealing.seal(tags.map(\.description).sorted(), in: .tags(number)), number,
        ])
        try db.cachedStatement(sql: "delete from device_tag where device = ?").execute(arguments: [number])
        let insert = try db.cachedStatement(sql: "insert into device_tag (device, tag) values (?, ?)")
        for tag in tags { try insert.execute(arguments: [number, sealing.index.hash(tag)]) }
        return number
    }
}
