internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
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
        for claim in ends.claims { try db.run(prepared: Registrar.deleteRow, claim) }
        try self.audit.append(ends.records, to: db)
        if !ends.isEmpty { self.writer.recordErasure() }
    }
}
