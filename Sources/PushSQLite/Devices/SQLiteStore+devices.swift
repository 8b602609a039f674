package import Foundation
package import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    package func requestRegistration(
        ofUser user: Int64,
        handle: DeviceHandle?,
        as id: RegistrationID,
        now: Date
    ) async throws -> RegistrationID {
        try await self.writer.write { db in
            if let handle, let id = try self.reuseRegistration(of: handle, by: user, db) { return id }
            try db.run(
                """
                insert into device (id, user_id, created_at, registered_at)
                values (\(id.description), \(user), \(now.milliseconds), \(now.milliseconds))
                """
            )
            try db.run(
                """
                delete from device where user_id = \(user) and handle is null and retired_at is null and id not in (
                    select id from device where user_id = \(user) and handle is null and retired_at is null
                    order by created_at desc, number desc limit \(StoredDevice.unusedLimit))
                """
            )
            return id
        }
    }

    package func unregister(_ id: RegistrationID, ofUser user: Int64, by record: AuditRecord?) async throws -> Bool {
        try await self.write(by: record) { [writer] db in
            let count = try db.run(
                "delete from device where id = \(id.description) and user_id = \(user) and claims_for is null"
            )
            if count > 0 { writer.recordErasure() }
            return count > 0
        }
    }

    package func retire(
        device: Int64,
        handle: String,
        in lane: Lane,
        reason: String,
        since: Date,
        now: Date
    ) async throws -> RegistrationID? {
        let key = DeviceHandle(handle).map(self.sealing.index.hash)
        return try await self.writer.write { [writer] db in
            let unchanged = try db.first(
                """
                select id from device
                where lane = \(lane.description) and handle_key = \(key) and registered_at <= \(since.milliseconds)
                    and number = \(device) and retired_at is null
                """
            ) { try RegistrationID($0.text()) }
            guard let id = unchanged ?? nil else { return nil }
            try Self.retire(device, reason: reason, db, now: now)
            writer.recordErasure()
            return id
        }
    }

    package func move(
        device: Int64,
        handleKey: Data,
        from lane: Lane,
        to other: Lane,
        page: Int,
        now: Date
    ) async throws -> Int? {
        try await self.writer.write { [pusher] db in
            let moved = try db.run(
                """
                update device set lane = \(other.description), environment_moves = environment_moves + 1
                where number = \(device) and lane = \(lane.description) and handle_key = \(handleKey)
                    and environment_moves < \(RegistrationDecision.maximumMoves) and retired_at is null
                """
            )
            guard moved == 1 else { return nil }
            // Pushes that were accepted in the other environment do not show that this environment
            // works.
            try db.run("delete from device_push where device = \(device)")
            return try pusher.moveQueued(ofDevice: device, page: page, db, now: now)
        }
    }

    package func deleteExpiredClaims(now: Date, limit: Int) async throws -> Int {
        let end = (now - HandleClaim.lifetime.timeInterval).milliseconds
        return try await self.writer.write(.housekeeping) { [writer] db in
            let claims = try db.run(SQL(sql: Self.expiredClaims), end, limit)
            if claims > 0 { writer.recordErasure() }
            return max(claims, try db.run(SQL(sql: Self.expiredConfirmations), end, limit))
        }
    }

    static let expiredClaims = """
        delete from device where number in (
            select number from device where claims_for is not null and registered_at <= ? limit ?)
        """
    static let expiredConfirmations = """
        delete from confirmation where handle_key in (
            select handle_key from confirmation where pushed_at <= ? limit ?)
        """
    static let endClaim = "delete from device where claims_for = ?"

    package func deleteDevice(_ id: RegistrationID, by record: AuditRecord?) async throws -> Bool {
        try await self.writer.write { db in
            let owner = try db.first(
                "select u.id, u.name from device d join account u on u.id = d.user_id where d.id = \(id.description)"
            ) { try self.sealing.username($0.data("name"), ofUser: $0.integer("id")) }
            guard let owner else { return false }
            // This statement runs a trigger, which cancels the device's queued pushes.
            try db.run("delete from device where id = \(id.description)")
            self.writer.recordErasure()
            var record = record
            record?.detail = "of \(owner)"
            try self.audit.append([record], to: db)
            return true
        }
    }

    // MARK: - Private

    private func reuseRegistration(of handle: DeviceHandle, by user: Int64, _ db: Database) throws -> RegistrationID? {
        let key = self.sealing.index.hash(handle)
        let ids = try db.all(
            "select id from device where user_id = \(user) and handle_key = \(key) order by registered_at desc, id"
        ) { try $0.text() }
        for double in ids.dropFirst() {
            try db.run("delete from device where id = \(double)")
            self.writer.recordErasure()
        }
        return ids.first.flatMap(RegistrationID.init)
    }

    /// Retires a device, cancels its pushes, and deletes its claim to a handle. If another account
    /// has registered the device's handle, `moved` is the platform of that registration.
    static func retire(_ device: Int64, reason: String, moved: Platform? = nil, _ db: Database, now: Date) throws {
        try db.run(
            """
            update device set retired_at = \(now.milliseconds), retired_reason = \(reason),
                moved_platform = \(moved?.description),
                platform = null, lane = null, handle = null, handle_key = null, tags = null,
                encryption_key = null
            where number = \(device)
            """
        )
        try db.run(SQL(sql: Self.unpark), device, now.milliseconds)
        try Self.cancel(db, where: "device = \(device) and due_at is not null", reason: reason, now: now)
        try db.run("delete from device_tag where device = \(device)")
        try db.run(SQL(sql: Self.endClaim), device)
        // A user may have many devices, so the statement is written such that SQLite uses an
        // index.
        try db.run(
            """
            delete from device where number in (
                select number from device
                where user_id = (select user_id from device where number = \(device)) and retired_at is not null
                order by \(sql: StoredDevice.tombstoneOrder) limit -1 offset \(StoredDevice.tombstoneLimit))
            """
        )
    }

    // MARK: Ends of sessions

    /// Selects the devices that were last registered with a session. The session's token must
    /// still exist.
    static let devicesOfSession = """
        \(EndingDevice.select)
        where user_id = (select user_id from token where prefix = ?1 and is_session) and session = ?1 and handle is not null
        """

    /// Selects the devices that were last registered with one of a user's sessions. The tokens of
    /// these sessions must still exist.
    static let devicesOfSessions = """
        \(EndingDevice.select) where user_id = ?1 and handle is not null
            and session in (select prefix from token where user_id = ?1 and is_session)
        """

    /// Selects a user's devices that have a handle, and the user's claims (handles that the user
    /// has not confirmed yet).
    static let devicesWithHandle = "\(EndingDevice.select) where user_id = ? and platform is not null"

    func write(_ ends: DeviceEnds, _ db: Database, now: Date) throws {
        for group in ends.retired {
            for device in group.devices { try Self.retire(device, reason: group.reason, db, now: now) }
        }
        for claim in ends.claims { try db.run(SQL(sql: Registrar.deleteRow), claim) }
        try self.audit.append(ends.records, to: db)
        if !ends.isEmpty { self.writer.recordErasure() }
    }
}
