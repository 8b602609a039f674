package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func addEnrolment(
        _ code: Fingerprint,
        for user: User,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        try await self.write(by: record) { [sealing] db in
            try db.execute(
                sql: """
                    insert into token (hash, prefix, user_id, is_session, is_vouched, scopes, created_at, expires_at, mac)
                    select ?1, ?2, id, 1, 0, ?3, ?4, ?5, ?6 from user
                    where id = ?7 and password_number = ?8 and disabled_at is null and role = ?9 and apps is ?10
                    """,
                arguments: [
                    // The column needs a unique value; nobody sees it.
                    code.bytes, BearerToken.random().prefix.description, Enrolment.mark + scopes.description,
                    now.milliseconds, expiresAt.milliseconds, sealing.rows.token(code, user: user.id), user.id,
                    user.passwordNumber, user.role.rawValue, user.apps.stored,
                ]
            )
            guard db.changesCount == 1 else { return false }
            try db.execute(
                sql: """
                    delete from token where hash in (
                        select hash from token where user_id = ?1 and scopes like ?2 and hash <> ?3
                        order by created_at desc limit -1 offset ?4)
                    """,
                arguments: [user.id, Enrolment.mark + "%", code.bytes, Enrolment.maximumCount - 1]
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
        try await self.write { [sealing] db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    select u.id, u.name, u.role, t.scopes, t.mac from token t join user u on u.id = t.user_id
                    where t.hash = ? and t.scopes like ? and t.expires_at > ? and u.disabled_at is null
                    """,
                arguments: [code.bytes, Enrolment.mark + "%", now.milliseconds]
            )
            guard let row else { return nil }
            let id: Int64 = try row["id"]
            guard try row["mac"] == sealing.rows.token(code, user: id), let role = try Role(rawValue: row["role"])
            else {
                throw StoreError.damaged(row: "a code's")
            }
            try db.execute(sql: "delete from token where hash = ?", arguments: [code.bytes])
            // No scope has the mark's name.
            let scopes = try Scopes(row["scopes"] as String).intersection(role.scopes)
            let token = try self.insertToken(
                db,
                user: id,
                isSession: true,
                scopes: scopes,
                expiresAt: expiresAt,
                now: now
            )
            let ended = try Self.endOldestSessions(of: id, but: token, db)
            let session = NewSession(token: token, ended: ended)
            let user = try sealing.username(row["name"], ofUser: id)
            return Enrolment(user: user, userID: id, scopes: scopes, session: session)
        } recording: { [audit] in
            $0.map { record($0.user, $0.scopes).about($0.session.token.prefix, in: audit.chain) }
        }
    }
}
