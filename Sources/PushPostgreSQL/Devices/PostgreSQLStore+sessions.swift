internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

extension PostgreSQLStore {
    /// Retires the devices of a user that were last registered with the given sessions, which
    /// somebody ends. Adds each device to the audit, with the actor of `record`. The user must be
    /// locked.
    static func retireDevices(
        _ tx: WriteTransaction,
        ofUser user: Int64,
        with sessions: [String],
        by record: AuditRecord?,
        now: Date
    ) async throws {
        if sessions.isEmpty { return }
        let devices = try await tx.query(Self.devicesOfSessions, user, sessions).map { row in
            (number: try row.integer(0), id: try row.text(1))
        }
        if devices.isEmpty { return }
        let reason = RegisteredDevice.sessionEnded
        try await Self.retire(tx, devices: devices.map(\.number), ofUser: user, reason: reason, now: now)
        guard let record else { return }
        for device in devices {
            tx.append(record.another(.unregisterDevice, of: device.id, detail: "with its session"))
        }
    }

    /// A server of an older version that registers a device again leaves the old session's name
    /// there, but changes `registered_at`.
    static let devicesOfSessions = """
        select number, id from device
        where user_id = $1 and session = any($2::text[]) and session_at = registered_at and handle is not null
        order by number for update
        """
}
