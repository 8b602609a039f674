internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension PostgreSQLStore {
    /// Retires the devices of a user that were last registered with the given sessions, which the
    /// caller ends. Adds each device to the audit, with the actor of `record`. The user must be
    /// locked.
    static func retireDevices(
        _ tx: WriteTransaction,
        ofUser user: Int64,
        with sessions: [String],
        by record: AuditRecord?,
        now: Date
    ) async throws {
        if sessions.isEmpty { return }
        let devices = try await tx.query(Self.devicesOfSessions, user, sessions).map(EndingDevice.init)
        try await Self.write(DeviceEnds(ofSessions: devices, by: record), ofUser: user, tx, now: now)
    }

    /// If a server of an older version registers a device again, the device's row keeps the name
    /// of the old session. But `registered_at` changes.
    static let devicesOfSessions = """
        \(EndingDevice.select)
        where user_id = $1 and session = any($2::text[]) and session_at = registered_at and handle is not null
        order by number for update
        """

    /// Writes the end of devices. The user must be locked.
    static func write(_ ends: DeviceEnds, ofUser user: Int64, _ tx: WriteTransaction, now: Date) async throws {
        for group in ends.retired {
            try await Self.retire(tx, devices: group.devices, ofUser: user, reason: group.reason, now: now)
        }
        try await Self.delete(tx, devices: ends.claims)
        for record in ends.records { tx.append(record) }
    }
}
