internal import Foundation
internal import GRDB
internal import PushCore
internal import PushStore

/// A device that ends with its session.
struct EndedDevice {
    let number: Int64
    let id: String

    init(_ row: borrowing DirectRow) {
        self.number = row.integer(0)
        self.id = row.text(1)
    }
}

extension SQLiteStore {
    /// The devices that were last registered with a session, whose token still exists.
    static let devicesOfSession = """
        select number, id from device
        where user_id = (select user_id from token where prefix = ?1 and is_session) and session = ?1 and handle is not null
        """

    /// The devices that were last registered with one of a user's sessions, whose tokens still
    /// exist.
    static let devicesOfSessions = """
        select number, id from device where user_id = (select id from user where name_key = ?1) and handle is not null
            and session in (
                select prefix from token where user_id = (select id from user where name_key = ?1) and is_session)
        """

    /// Retires devices whose session somebody ends, and adds each to the audit with the actor of
    /// `record`.
    func retire(_ devices: [EndedDevice], by record: AuditRecord?, _ db: Database, now: Date) throws {
        for device in devices {
            try Self.retire(db, device: device.number, reason: RegisteredDevice.sessionEnded, now: now)
            guard let record else { continue }
            try self.audit.append(record.another(.unregisterDevice, of: device.id, detail: "with its session"), to: db)
        }
        if !devices.isEmpty { self.writer.recordErasure() }
    }
}
