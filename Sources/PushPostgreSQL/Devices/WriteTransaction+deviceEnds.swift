internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension WriteTransaction {
    /// Deletes devices with all their rows, and the devices' unconfirmed claims to handles. A
    /// number in `devices` may also be the number of a claim. Returns whether any of the devices
    /// and claims existed.
    ///
    /// Cancels their pushes with the database's time, since some callers do not know the time.
    @discardableResult
    func delete(devices: [Int64]) async throws -> Bool {
        if devices.isEmpty { return false }
        let rows = try await self.query(Self.lockWithClaims, devices)
        guard let first = rows.first else { return false }
        let numbers = try rows.map { try $0.integer("number") }
        let (now, page) = (try first.date("now"), PostgreSQLStore.deletionPage)
        while try await self.endPushes(ofDevices: numbers, atMost: page, now: now) == page {}
        _ = try await self.query(Self.rowsOfDevices, numbers)
        return true
    }

    private static let lockWithClaims = """
        select number, \(DatabaseClock.now) as now from device
        where number = any($1::bigint[]) or claims_for = any($1::bigint[]) order by number for update
        """

    private static let rowsOfDevices = """
        with tags as (delete from device_tag where device = any($1::bigint[])),
        accepted as (delete from device_push where device = any($1::bigint[])),
        newest as (delete from collapse where device = any($1::bigint[]))
        delete from device where number = any($1::bigint[])
        """

    /// Retires devices of one user, cancels their pushes, and deletes their claims to handles. If
    /// another account has registered a device's handle, `moved` is the platform of that
    /// registration.
    func retire(
        devices: [Int64],
        ofUser user: Int64,
        reason: String,
        moved platform: Platform? = nil,
        now: Date
    ) async throws {
        let retired = try await self.query(Self.retire, devices, now.milliseconds, reason, platform?.description)
        for (device, platform) in try retired.map({ (try $0.integer("number"), try $0.optionalText("platform")) }) {
            self.record(NewEvent(kind: .retired, at: now, device: device, user: user, lane: platform, reason: reason))
        }
        try await self.cancelPushes(ofDevices: devices, reason: reason, now: now)
        let useless = try await self.query(Self.endTags, devices, user, StoredDevice.tombstoneLimit)
        try await self.delete(devices: useless.map { try $0.integer() })
    }

    private static let retire = """
        with old as (
            select number, platform from device where number = any($1::bigint[]) and retired_at is null
            order by number for update)
        update device d set retired_at = $2, retired_reason = $3, moved_platform = $4, platform = null, lane = null,
            handle = null, handle_key = null, tags = null, encryption_key = null
        from old where d.number = old.number returning d.number, old.platform
        """

    /// Deletes the tags of retired devices. Returns the rows that the caller must delete: the
    /// devices' claims to handles, and the user's oldest retired devices, if there are more than
    /// the maximum.
    static let endTags = """
        with tags as (delete from device_tag where device = any($1::bigint[])),
        old as (
            select number from device where user_id = $2 and retired_at is not null
            order by \(StoredDevice.tombstoneOrder) offset $3)
        select number from device where claims_for = any($1::bigint[]) union all select number from old
        """

    /// Retires those devices of a user that were last registered with one of `sessions`; the
    /// caller ends these sessions. Adds a record for each device to the audit, with the actor of
    /// `record`. The caller must have locked the user.
    func retireDevices(ofUser user: Int64, with sessions: [String], by record: AuditRecord?, now: Date) async throws {
        if sessions.isEmpty { return }
        let devices = try await self.query(Self.devicesOfSessions, user, sessions).map(EndingDevice.init)
        try await self.write(DeviceEnds(ofSessions: devices, by: record), ofUser: user, now: now)
    }

    /// Compares `session_at` with `registered_at`, because of servers of an older version. If such
    /// a server registers a device again, it keeps the name of the old session in the row, but
    /// changes `registered_at`.
    static let devicesOfSessions = """
        \(EndingDevice.select)
        where user_id = $1 and session = any($2::text[]) and session_at = registered_at and handle is not null
        order by number for update
        """

    /// Retires the devices and deletes the claims in `ends`, and adds its records to the audit.
    /// The caller must have locked the user.
    func write(_ ends: DeviceEnds, ofUser user: Int64, now: Date) async throws {
        for group in ends.retired {
            try await self.retire(devices: group.devices, ofUser: user, reason: group.reason, now: now)
        }
        try await self.delete(devices: ends.claims)
        for record in ends.records { self.append(record) }
    }
}
