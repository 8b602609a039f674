package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func addEnrolment(
        _ code: Fingerprint,
        for user: User,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool {
        try await self.write { [sealing] tx in
            let unchanged = try await tx.query(
                Self.unchanged,
                user.id,
                user.passwordNumber,
                user.role.rawValue,
                user.apps.stored
            )
            guard unchanged.count == 1 else { return false }
            _ = try await tx.query(
                Self.insertCode,
                code.bytes,
                // The column needs a unique value; no answer shows it.
                BearerToken.random().prefix.description,
                user.id,
                Enrolment.mark + scopes.description,
                now.milliseconds,
                expiresAt.milliseconds,
                sealing.rows.token(code, user: user.id)
            )
            _ = try await tx.query(Self.oldestCodes, user.id, code.bytes, Enrolment.maximumCount - 1)
            if let record { tx.append(record) }
            return true
        }
    }

    private static let unchanged = """
        select id from account where id = $1 and password_number = $2 and disabled_at is null and role = $3
            and apps is not distinct from $4::text for no key update
        """
    private static let insertCode = """
        insert into token (hash, prefix, user_id, is_session, is_vouched, scopes, created_at, expires_at, mac)
        values ($1, $2, $3, true, false, $4, $5, $6, $7)
        """
    static let oldestCodes = """
        delete from token where hash in (
            select hash from token where user_id = $1 and scopes like '\(Enrolment.mark)%' and hash <> $2
            order by created_at desc offset $3)
        """

    package func redeemEnrolment(
        _ code: Fingerprint,
        expiresAt: Date,
        now: Date,
        by record: @escaping @Sendable (Username, Scopes) -> AuditRecord
    ) async throws -> Enrolment? {
        try await self.write { [sealing] tx in
            // Locks the user first, as `addSession` does.
            guard let row = try await tx.query(Self.lockUserOfCode, code.bytes, now.milliseconds).first else {
                return nil
            }
            let id = try row.integer(0)
            guard let role = Role(rawValue: try row.text(2)) else { throw StoreError.damaged(row: "a user's") }
            // If two requests use a code at the same time, the second finds it deleted.
            guard let used = try await tx.query(Self.useCode, code.bytes).first else { return nil }
            guard try used.integer(1) == sealing.rows.token(code, user: id) else {
                throw StoreError.damaged(row: "a code's")
            }
            let user = try sealing.username(row.data(1), ofUser: id)
            // No scope has the mark's name, so parsing drops it.
            let scopes = Scopes(try used.text(0)).intersection(role.scopes)
            let token = try await self.insert(
                NewToken(user: id, isSession: true, isVouched: false, scopes: scopes, expiresAt: expiresAt),
                by: record(user, scopes),
                tx,
                now: now
            )
            let ended = try await Self.endOldestSessions(of: id, but: token, tx)
            return Enrolment(user: user, userID: id, scopes: scopes, session: NewSession(token: token, ended: ended))
        }
    }

    private static let lockUserOfCode = """
        select u.id, u.name, u.role from account u
        where u.id = (
                select user_id from token
                where hash = $1 and scopes like '\(Enrolment.mark)%' and expires_at > $2)
            and u.disabled_at is null
        for no key update
        """
    private static let useCode = "delete from token where hash = $1 returning scopes, mac"
}
