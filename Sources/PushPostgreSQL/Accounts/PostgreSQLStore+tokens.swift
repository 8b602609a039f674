package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func addToken(for name: Username, _ token: NewToken, by record: AuditRecord?) async throws -> BearerToken? {
        try await self.write { tx in
            // Locks the user. Otherwise the token could remain if another transaction deletes the
            // user at the same time.
            guard let user = try await tx.lockAccount(name)?.id else { return nil }
            return try await tx.insert(TokenRow(for: user, isSession: false, token), by: record)
        }
    }

    package func addSession(for user: User, _ token: NewToken, by record: AuditRecord?) async throws -> NewSession? {
        try await self.write { tx in
            guard try await tx.lockAccount(user.id)?.admits(user) == true else { return nil }
            return try await tx.beginSession(TokenRow(for: user.id, isSession: true, token), by: record)
        }
    }

    package func revokeToken(_ prefix: TokenPrefix, by record: AuditRecord?, now: Date) async throws -> Fingerprint? {
        try await self.write { [audit] tx in
            // Locks the user before the token, in the same order as `addSession`.
            guard let owner = try await tx.query(Self.newVersionOfOwner, prefix.description).first else { return nil }
            guard let row = try await tx.query(Self.revoke, prefix.description).first else { return nil }
            let (fingerprint, user) = (Fingerprint(bytes: try row.data()), try owner.integer())
            // If an administrator issued the token, the next call retires no device: such a token
            // is no session, so no device was registered with it.
            try await tx.retireDevices(ofUser: user, with: [prefix.description], by: record, now: now)
            if let record { tx.append(record.about(prefix, in: audit)) }
            if let fingerprint { tx.end(.token(fingerprint, user: user)) }
            return fingerprint
        }
    }

    private static let newVersionOfOwner = """
        update account set version = version + 1 where id = (select user_id from token where prefix = $1) returning id
        """
    private static let revoke = "delete from token where prefix = $1 returning hash"

    package func deleteExpiredTokens(now: Date, limit: Int) async throws -> Int {
        try await self.write { tx in
            try await tx.query(Self.expiredTokens, now.milliseconds, limit).changed
        }
    }

    static let expiredTokens = """
        delete from token where hash in (
            select hash from token where expires_at <= $1 order by expires_at limit $2 for update skip locked)
        """

    package func store(_ uses: [TokenUses.Use]) async throws {
        try await self.write { tx in
            _ = try await tx.query(Self.tokensUsed, uses.map(\.token.description), uses.map(\.at.milliseconds))
        }
    }

    /// Stores when tokens were last used. Of two times it keeps the later one, since another
    /// server may already have stored a later use.
    private static let tokensUsed = """
        with used as (
            select t.prefix, u.at from token t join unnest($1::text[], $2::bigint[]) as u (prefix, at) on u.prefix = t.prefix
            order by t.prefix for update of t)
        update token t set used_at = greatest(t.used_at, used.at) from used where t.prefix = used.prefix
        """

    // MARK: Enrolment

    package func addEnrolment(
        _ code: Fingerprint,
        for user: User,
        _ token: NewToken,
        by record: AuditRecord?
    ) async throws -> Bool {
        try await self.write { tx in
            guard try await tx.lockAccount(user.id)?.admitsCode(for: user) == true else { return false }
            _ = try await tx.insert(TokenRow(codeFor: user, token), as: code, by: nil)
            _ = try await tx.query(Self.oldestCodes, user.id, code.bytes, Enrolment.maximumCount - 1)
            if let record { tx.append(record) }
            return true
        }
    }

    static let oldestCodes = """
        delete from token where hash in (
            select hash from token where user_id = $1 and \(Enrolment.isCode) and hash <> $2
            order by created_at desc, hash desc offset $3)
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
            let row = TokenRow(for: user.id, isSession: true, NewToken(scopes, now: now, expiresAt: expiresAt))
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
