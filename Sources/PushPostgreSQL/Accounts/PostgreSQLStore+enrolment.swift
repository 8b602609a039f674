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
        try await self.write { tx in
            guard try await tx.lockAccount(user.id)?.admitsCode(for: user) == true else { return false }
            let row = NewToken(codeFor: user, scopes: scopes, now: now, expiresAt: expiresAt)
            _ = try await tx.insert(row, as: code, by: nil)
            _ = try await tx.query(Self.oldestCodes, user.id, code.bytes, Enrolment.maximumCount - 1)
            if let record { tx.append(record) }
            return true
        }
    }

    static let oldestCodes = """
        delete from token where hash in (
            select hash from token where user_id = $1 and \(Enrolment.isCode) and hash <> $2
            order by created_at desc offset $3)
        """

    package func redeemEnrolment(
        _ code: Fingerprint,
        expiresAt: Date,
        now: Date,
        by record: @escaping @Sendable (Username, Scopes) -> AuditRecord
    ) async throws -> Enrolment? {
        try await self.write { [sealing] tx in
            let found = try await tx.query(Self.lockUserOfCode, code.bytes, now.milliseconds).first.map {
                try TokenGrant.used($0, code, sealing)
            }
            // If two requests use a code at the same time, the second request fails here: the
            // first request has deleted the code.
            guard let (user, grant) = found, try await tx.query(Self.useCode, code.bytes).changed == 1 else {
                return nil
            }
            let scopes = Enrolment.scopes(of: grant, for: user)
            let row = NewToken(for: user.id, isSession: true, scopes: scopes, now: now, expiresAt: expiresAt)
            let session = try await tx.beginSession(row, by: record(user.name, scopes))
            return Enrolment(user: user.name, userID: user.id, scopes: scopes, session: session)
        }
    }

    /// Locks the user before the token, in the same order as `addSession`.
    private static let lockUserOfCode = """
        select \(TokenColumn.selected) from token t join account u on u.id = t.user_id
        where t.hash = $1 and t.\(Enrolment.isCode) and t.expires_at > $2 and u.disabled_at is null
        for no key update of u
        """
    private static let useCode = "delete from token where hash = $1"
}
