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
        try await self.writer.write { [writer, sealing] db in
            if let handle {
                let key = sealing.index.hash(handle)
                if let id = try Self.reuseRegistration(db, user: user, handleKey: key, writer) { return id }
            }
            try db.run(
                prepared: "insert into device (id, user_id, created_at, registered_at) values (?1, ?2, ?3, ?3)",
                id.description,
                user,
                now.milliseconds
            )
            try db.run(
                prepared: """
                    delete from device where user_id = ?1 and handle is null and retired_at is null and id not in (
                        select id from device where user_id = ?1 and handle is null and retired_at is null
                        order by created_at desc, number desc limit ?2)
                    """,
                user,
                StoredDevice.unusedLimit
            )
            return id
        }
    }

    package func unregister(
        _ id: RegistrationID,
        ofUser user: Int64,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.write(by: record) { [writer] db in
            let count = try db.run(
                prepared: "delete from device where id = ? and user_id = ? and claims_for is null",
                id.description,
                user
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
                prepared: """
                    select id from device
                    where lane = ? and handle_key = ? and registered_at <= ? and number = ? and retired_at is null
                    """,
                lane.description,
                key,
                since.milliseconds,
                device
            ) { RegistrationID($0.text(0)) }
            guard let id = unchanged ?? nil else { return nil }
            try Self.retire(db, device: device, reason: reason, now: now)
            writer.recordErasure()
            return id
        }
    }

    package func move(
        device: Int64,
        handle: String,
        from lane: Lane,
        to other: Lane,
        page: Int?,
        now: Date
    ) async throws -> Bool {
        let key = DeviceHandle(handle).map(self.sealing.index.hash)
        let page = page ?? AudienceWalk.page
        let first = try await self.writer.write { db -> Int? in
            let moved = try db.run(
                prepared: """
                    update device set lane = ?, environment_moves = environment_moves + 1
                    where number = ? and lane = ? and handle_key = ? and environment_moves < 2 and retired_at is null
                    """,
                other.description,
                device,
                lane.description,
                key
            )
            guard moved == 1 else { return nil }
            // Pushes accepted in the other environment do not count for this one.
            try db.run(prepared: "delete from device_push where device = ?", device)
            return try Self.moveQueued(db, ofDevice: device, page: page, now: now)
        }
        guard let first else { return false }
        _ = try await self.moveRemaining(ofDevice: device, after: first, page: page, now: now)
        return true
    }

    package func deleteExpiredClaims(now: Date, limit: Int) async throws -> Int {
        let end = (now - HandleClaim.lifetime.timeInterval).milliseconds
        return try await self.writer.write(.housekeeping) { [writer] db in
            let claims = try db.run(prepared: Self.expiredClaims, end, limit)
            if claims > 0 { writer.recordErasure() }
            return max(claims, try db.run(prepared: Self.expiredConfirmations, end, limit))
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

    // MARK: - Private

    private static func reuseRegistration(
        _ db: Database,
        user: Int64,
        handleKey: Data,
        _ writer: Writer
    ) throws -> RegistrationID? {
        let ids = try db.all(
            prepared: "select id from device where user_id = ? and handle_key = ? order by registered_at desc, id",
            user,
            handleKey
        ) { $0.text(0) }
        for double in ids.dropFirst() {
            try db.run(prepared: "delete from device where id = ?", double)
            writer.recordErasure()
        }
        return ids.first.flatMap(RegistrationID.init)
    }

    /// Retires a device, cancels its pushes, and ends its claim. `moved`: another account has
    /// registered its handle, on that platform.
    static func retire(
        _ db: Database,
        device: Int64,
        reason: String,
        moved platform: Platform? = nil,
        now: Date
    ) throws {
        try db.run(
            prepared: """
                update device set retired_at = ?, retired_reason = ?, moved_platform = ?,
                    platform = null, lane = null, handle = null, handle_key = null, tags = null,
                    encryption_key = null
                where number = ?
                """,
            now.milliseconds,
            reason,
            platform?.description,
            device
        )
        try Self.unpark(device: device, db, now: now)
        try Self.cancel(db, where: "device = \(device) and due_at is not null", reason: reason, now: now)
        try db.run(prepared: "delete from device_tag where device = ?", device)
        try db.run(prepared: Self.endClaim, device)
        // The statement uses an index, because a user may have many devices.
        try db.run(
            prepared: """
                delete from device where number in (
                    select number from device
                    where user_id = (select user_id from device where number = ?) and retired_at is not null
                    order by retired_at desc limit -1 offset ?)
                """,
            device,
            StoredDevice.tombstoneLimit
        )
    }
}
