package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func rehashPassword(of user: User, from old: PasswordHash, to new: PasswordHash) async throws {
        try await self.writer.write { [writer] db in
            try db.execute(
                sql: "update user set password = ? where id = ? and password = ?",
                arguments: [new.phc, user.id, old.phc]
            )
            writer.recordErasure()
        }
    }

    package func changePassword(
        of user: User,
        to password: PasswordHash,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        try await self.write(by: record) { [writer, sealing] db in
            writer.recordErasure()
            let key = sealing.index.hash(user.name)
            let devices = try db.all(prepared: Self.devicesOfSessions, key, decode: EndingDevice.init)
            try db.execute(
                sql: """
                    update user set password = ?, password_number = password_number + 1
                    where id = ? and password_number = ?
                    """,
                arguments: [password.phc, user.id, user.passwordNumber]
            )
            guard db.changesCount == 1 else { return false }
            try self.write(DeviceEnds(ofSessions: devices, by: record), db, now: now)
            return true
        }
    }
}
