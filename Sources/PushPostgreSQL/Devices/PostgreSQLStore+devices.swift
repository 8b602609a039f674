package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func requestRegistration(
        ofUser user: Int64,
        handle: DeviceHandle?,
        as id: RegistrationID,
        now: Date
    ) async throws -> RegistrationID {
        try await self.write { [sealing] tx in
            guard try await tx.query(Self.lockUserID, user).count == 1 else {
                throw StoreError.failed(reason: "the user was deleted in the meantime")
            }
            if let handle {
                // If the user has several ids for the handle, one of them stays.
                let rows = try await tx.query(Self.devicesByHandle, user, sealing.index.hash(handle))
                try await tx.delete(devices: rows.dropFirst().map { try $0.integer("number") })
                if let id = try rows.first.flatMap({ RegistrationID(try $0.text("id")) }) { return id }
            }
            let inserted = try await tx.query(Self.insertDevice, id.description, user, now.milliseconds)
            guard inserted.changed == 1 else { throw StoreError.failed(reason: "the registration id is in use") }
            let unused = try await tx.query(Self.unusedDevices, user, StoredDevice.unusedLimit)
            try await tx.delete(devices: unused.map { try $0.integer() })
            return id
        }
    }

    /// Locks the user until the commit: meanwhile the user registers no other device, and nobody
    /// deletes the user.
    static let lockUserID = "select id from account where id = $1 for no key update"
    private static let insertDevice = """
        insert into device (id, user_id, created_at, registered_at) values ($1, $2, $3, $3) on conflict (id) do nothing
        """
    static let devicesByHandle = """
        select number, id from device where user_id = $1 and handle_key = $2 order by registered_at desc, id
        """
    static let unusedDevices = """
        select number from device where user_id = $1 and handle is null and retired_at is null
        order by created_at desc, number desc offset $2
        """

    package func unregister(_ id: RegistrationID, ofUser user: Int64, by record: AuditRecord?) async throws -> Bool {
        try await self.write { tx in
            guard let row = try await tx.query(Self.deviceOfUser, id.description, user).first else { return false }
            guard try await tx.delete(devices: [try row.integer()]) else { return false }
            if let record { tx.append(record) }
            return true
        }
    }

    private static let deviceOfUser = "select number from device where id = $1 and user_id = $2 and claims_for is null"

    package func deleteDevice(_ id: RegistrationID, by record: AuditRecord?) async throws -> Bool {
        try await self.write { [sealing] tx in
            guard let row = try await tx.query(Self.deviceWithOwner, id.description).first else { return false }
            guard try await tx.delete(devices: [try row.integer("number")]) else { return false }
            if var record {
                record.detail = "of \(try sealing.username(row.data("name"), ofUser: row.integer("id")))"
                tx.append(record)
            }
            return true
        }
    }

    private static let deviceWithOwner =
        "select d.number, u.id, u.name from device d join account u on u.id = d.user_id where d.id = $1"

    package func retire(
        device: Int64,
        handle: String,
        in lane: Lane,
        reason: String,
        since: Date,
        now: Date
    ) async throws -> RegistrationID? {
        guard let key = DeviceHandle(handle).map(self.sealing.index.hash) else { return nil }
        return try await self.write { tx in
            let found = try await tx.query(Self.unchanged, device, lane.description, key, since.milliseconds).first
            guard let found, let id = RegistrationID(try found.text("id")) else { return nil }
            try await tx.retire(devices: [device], ofUser: found.integer("user_id"), reason: reason, now: now)
            return id
        }
    }

    private static let unchanged = """
        select user_id, id from device
        where number = $1 and lane = $2 and handle_key = $3 and registered_at <= $4 and retired_at is null for update
        """

    package func deleteExpiredClaims(now: Date, limit: Int) async throws -> Int {
        let end = (now - HandleClaim.lifetime.timeInterval).milliseconds
        return try await self.write { tx in
            let claims = try await tx.query(Self.expiredClaims, end, limit).map { try $0.integer() }
            try await tx.delete(devices: claims)
            return max(claims.count, try await tx.query(Self.expiredConfirmations, end, limit).changed)
        }
    }

    static let expiredClaims = """
        select number from device where claims_for > 0 and registered_at <= $1 limit $2 for update skip locked
        """
    static let expiredConfirmations = """
        delete from confirmation where handle_key in (
            select handle_key from confirmation where pushed_at <= $1 limit $2 for update skip locked)
        """

    // MARK: Encryption keys

    package func setKey(
        _ key: String,
        of id: RegistrationID,
        ofUser user: Int64,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.write { tx in
            guard try await tx.query(Self.setKey, key, id.description, user).changed > 0 else { return false }
            if let record { tx.append(record) }
            return true
        }
    }

    private static let setKey = """
        update device set encryption_key = $1
        where id = $2 and user_id = $3 and handle is not null and retired_at is null and claims_for is null
        """

    package func deviceKeys(of audience: HashedAudience, atMost limit: Int) async throws -> [DeviceKeyEntry]? {
        try await self.write { [sealing] tx in
            let pages = AudiencePages(audience, tx)
            // If the audience is all devices, `isLarger` would return `true` without counting. So
            // this function counts the devices itself.
            if audience.branches == [.devices] {
                let devices = try await tx.query(Self.countDevices, limit + 1).first?.integer() ?? 0
                if devices > Int64(limit) { return nil }
            } else if try await pages.isLarger(than: limit) {
                return nil
            }
            var (walk, numbers, isLast) = (AudienceWalk(), Set<Int64>(), false)
            while !isLast {
                let next = try await pages.take(AudienceWalk.page, at: &walk)
                numbers.formUnion(next.rows.devices.map(\.number))
                isLast = next.isLast
                // The limit is checked after each page: a page of users may have more devices than
                // `AudienceWalk.page`, since a user may have several.
                guard numbers.count <= limit else { return nil }
            }
            let app = audience.audience.app
            return try await tx.query(Self.deviceKeys(app), Array(numbers), app.description)
                .compactMap { try DeviceKeyEntry($0, sealing) }
        }
    }

    private static let countDevices = "select count(*) from (select 1 from device limit $1) as x"

    static func deviceKeys(_ app: AppName) -> String {
        """
        select \(DeviceKeyEntry.Column.list) from device d join account u on u.id = d.user_id
        where d.number = any($1::bigint[])
        and \(AudienceCondition.hasUser(app, parameter: "$2"))
        order by d.number
        """
    }

    // MARK: Reading

    package static let registeredDevices = """
        select \(StoredDevice.Column.list), p.accepted_at
        from device d left join device_push p on p.device = d.number
        where d.user_id = $1 and d.retired_at is null and d.handle is not null and d.claims_for is null
        order by d.created_at, d.id
        """

    package static let registeredDevice = """
        select \(StoredDevice.Column.list), p.accepted_at, u.name
        from device d join account u on u.id = d.user_id left join device_push p on p.device = d.number
        where d.id = $1 and d.retired_at is null and d.handle is not null and d.claims_for is null
        """

    package static let moved = """
        select \(MovedDevice.Column.list) from device
        where user_id = $1 and retired_at > $2 and moved_platform is not null order by retired_at desc
        """

    package func isAnythingWaiting(for devices: [RegistrationID], now: Date) async throws(StoreError) -> Bool {
        try await self.read(Self.isWaiting, devices.map(\.description), now.milliseconds) { rows in
            try rows.first?.flag() ?? false
        }
    }

    static let isWaiting = """
        select exists (
            select 1 from push p join device d on d.number = p.device
            where d.id = any($1::text[]) and p.owner is null and p.due_at > $2)
        """

    /// Selects the handles that a user has claimed but not confirmed yet, with the pushes of their
    /// confirmation codes. A push is in the table `push` until it is settled, and in `push_end`
    /// afterwards.
    package static let claims = """
        with c as (
            select d.number, d.user_id, d.claims_for, f.notification_id
            from device d join confirmation f on f.handle_key = d.handle_key
            where d.user_id = $1 and d.claims_for is not null)
        select c.number, c.user_id, null::text, null::bytea, coalesce(p.lane, e.lane),
            coalesce(e.state, case when p.owner is null then 'queued' else 'sending' end),
            coalesce(p.attempts, e.attempts), coalesce(p.reason, e.reason), null::int8, e.settled_at, p.due_at,
            c.claims_for
        from c left join push p on p.notification_id = c.notification_id and p.device = c.number
        left join push_end e on e.notification_id = c.notification_id and e.device = c.number
        where p.device is not null or e.device is not null
        """

    private static let entries = """
        select \(StoredDevice.Column.list), \(ListedColumn.list)
        from device d join account u on u.id = d.user_id left join device_push p on p.device = d.number
        where d.claims_for is null
        """
    package static let deviceOfID = """
        \(entries) and d.number = (select coalesce(claims_for, number) from device where id = $1)
        """
    package static let allDevices = "\(entries) and d.number > $1 order by d.number limit $2"
    package static let devicesOfOne = """
        \(entries) and u.name_key = $3 and (d.created_at, d.number) > ($4, $1) order by d.created_at, d.number limit $2
        """
}
