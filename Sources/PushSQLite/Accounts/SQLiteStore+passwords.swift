package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func rehashPassword(of user: User, from old: PasswordHash, to new: PasswordHash) async throws {
        try await self.writer.write { [writer] db in
            try db.run("update user set password = \(new.phc) where id = \(user.id) and password = \(old.phc)")
            writer.recordErasure()
        }
    }

    package func changePassword(
        of user: User,
        to password: PasswordHash,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        try await self.write(by: record) { [writer] db in
            writer.recordErasure()
            let devices = try db.all(prepared: Self.devicesOfSessions, user.id, decode: EndingDevice.init)
            let changed = try db.run(
                """
                update user set password = \(password.phc), password_number = password_number + 1
                where id = \(user.id) and password_number = \(user.passwordNumber)
                """
            )
            guard changed == 1 else { return false }
            try self.write(DeviceEnds(ofSessions: devices, by: record), db, now: now)
            return true
        }
    }
}
