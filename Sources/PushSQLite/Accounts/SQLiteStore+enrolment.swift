package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func addEnrolment(
        _ code: Fingerprint,
        for user: User,
        _ token: NewToken,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.write(by: record) { db in
            guard try self.account(user.id, db)?.admitsCode(for: user) == true else { return false }
            _ = try self.insert(TokenRow(codeFor: user, token), as: code, by: nil, db)
            try db.run(
                """
                delete from token where hash in (
                    select hash from token where user_id = \(user.id) and \(sql: Enrolment.isCode)
                        and hash <> \(code.bytes)
                    order by created_at desc limit -1 offset \(Enrolment.maximumCount - 1))
                """
            )
            return true
        }
    }

    package func redeemEnrolment(
        _ code: Fingerprint,
        expiresAt: Date,
        now: Date,
        by record: @escaping @Sendable (Username, Scopes) -> AuditRecord
    ) async throws -> Enrolment? {
        try await self.writer.write { db in
            let sql = "\(SQLiteReader.tokenInUse) and t.\(Enrolment.isCode)"
            let found = try db.first(prepared: sql, code.bytes, now.milliseconds) {
                try TokenGrant.used($0, code, self.sealing)
            }
            guard let (user, grant) = found else { return nil }
            try db.run("delete from token where hash = \(code.bytes)")
            let scopes = Enrolment.scopes(of: grant, for: user)
            let row = TokenRow(for: user.id, isSession: true, NewToken(scopes, now: now, expiresAt: expiresAt))
            let session = try self.beginSession(row, by: record(user.name, scopes), db)
            return Enrolment(user: user.name, userID: user.id, scopes: scopes, session: session)
        }
    }
}
