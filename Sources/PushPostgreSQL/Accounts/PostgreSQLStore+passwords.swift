package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func rehashPassword(of user: User, from old: PasswordHash, to new: PasswordHash) async throws {
        try await self.write { tx in
            _ = try await tx.query(Self.rehash, new.phc, user.id, old.phc)
        }
    }

    private static let rehash = "update account set password = $1 where id = $2 and password = $3"

    package func changePassword(
        of user: User,
        to password: PasswordHash,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        try await self.write { tx in
            let changed = try await tx.query(Self.newPassword, password.phc, user.id, user.passwordNumber)
            guard changed.count == 1 else { return false }
            let sessions = try await tx.query(Self.endSessions, user.id).map { try $0.text(0) }
            try await Self.retireDevices(tx, ofUser: user.id, with: sessions, by: record, now: now)
            tx.end(.user(user.id))
            if let record { tx.append(record) }
            return true
        }
    }

    /// Stores the new password. The new `password_number` ends all sessions that began with the
    /// old password; tokens that an administrator issued remain valid.
    private static let newPassword = """
        update account set password = $1, password_number = password_number + 1, version = version + 1
        where id = $2 and password_number = $3 returning id
        """
}
