package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func addToken(
        for name: Username,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord?,
        now: Date
    ) async throws -> BearerToken? {
        try await self.write { [sealing] db in
            let id = try Int64.fetchOne(
                db,
                sql: "select id from user where name_key = ?",
                arguments: [sealing.index.hash(name)]
            )
            return try id.map {
                try self.insertToken(db, user: $0, isSession: false, scopes: scopes, expiresAt: expiresAt, now: now)
            }
        } recording: { [audit] in
            $0.flatMap { record?.about($0.prefix, in: audit.chain) }
        }
    }

    package func addSession(
        for user: User,
        scopes: Scopes,
        expiresAt: Date,
        isVouched: Bool,
        by record: AuditRecord?,
        now: Date
    ) async throws -> NewSession? {
        try await self.write { db in
            let isStill = try Bool.fetchOne(
                db,
                sql: """
                    select exists (
                        select 1 from user where id = ? and password_number = ? and disabled_at is null)
                    """,
                arguments: [user.id, user.passwordNumber]
            )
            guard isStill == true else { return nil }
            let token = try self.insertToken(
                db,
                user: user.id,
                isSession: true,
                isVouched: isVouched,
                scopes: scopes,
                expiresAt: expiresAt,
                now: now
            )
            return NewSession(token: token, ended: try Self.endOldestSessions(of: user.id, but: token, db))
        } recording: { [audit] in
            $0.flatMap { record?.about($0.token.prefix, in: audit.chain) }
        }
    }

    /// Ends the user's oldest sessions above the maximum.
    static func endOldestSessions(of user: Int64, but token: BearerToken, _ db: Database) throws -> [Fingerprint] {
        try Data.fetchAll(
            db,
            sql: """
                delete from token where hash in (
                    select hash from token where user_id = ?1 and is_session and hash <> ?2
                    order by created_at desc limit -1 offset ?3)
                returning hash
                """,
            arguments: [user, token.fingerprint.bytes, NewSession.maximumCount - 1]
        ).compactMap { Fingerprint(bytes: $0) }
    }

    package func revokeToken(_ prefix: TokenPrefix, by record: AuditRecord?, now: Date) async throws -> Fingerprint? {
        try await self.write { db in
            let devices = try db.all(prepared: Self.devicesOfSession, prefix.description, decode: EndingDevice.init)
            try self.write(DeviceEnds(ofSessions: devices, by: record), db, now: now)
            return try Data.fetchOne(
                db,
                sql: "delete from token where prefix = ? returning hash",
                arguments: [prefix.description]
            ).flatMap { Fingerprint(bytes: $0) }
        } recording: { [audit] in
            $0.flatMap { _ in record?.about(prefix, in: audit.chain) }
        }
    }

    package func deleteExpiredTokens(now: Date, limit: Int) async throws -> Int {
        try await self.writer.write(.housekeeping) { db in
            try db.execute(
                sql: """
                    delete from token where hash in (
                        select hash from token where expires_at <= ? order by expires_at limit ?)
                    """,
                arguments: [now.milliseconds, limit]
            )
            return db.changesCount
        }
    }

    package func recordUse(of token: TokenPrefix, now: Date) {
        self.tokenUses.record(token, now: now)
    }

    package func writeTokenUses(limit: Int) async throws -> Int {
        let uses = self.tokenUses.take(limit)
        if uses.isEmpty { return 0 }
        do {
            try await self.writer.write(.housekeeping) { db in
                let statement = try db.cachedStatement(sql: "update token set used_at = ? where prefix = ?")
                for use in uses { try statement.execute(arguments: [use.at.milliseconds, use.token.description]) }
            }
        } catch {
            self.tokenUses.giveBack(uses)
            throw error
        }
        return uses.count
    }

    func insertToken(
        _ db: Database,
        user: Int64,
        isSession: Bool,
        isVouched: Bool = false,
        scopes: Scopes,
        expiresAt: Date,
        now: Date
    ) throws -> BearerToken {
        // With 62^8 prefixes, a repeated one is improbable.
        while true {
            let token = BearerToken.random()
            try db.execute(
                sql: """
                    insert into token (hash, prefix, user_id, is_session, is_vouched, scopes, created_at, expires_at,
                        mac)
                    values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (prefix) do nothing
                    """,
                arguments: [
                    token.fingerprint.bytes, token.prefix.description, user, isSession, isVouched,
                    scopes.description, now.milliseconds, expiresAt.milliseconds,
                    self.sealing.rows.token(token.fingerprint, user: user),
                ]
            )
            if db.changesCount == 1 { return token }
        }
    }
}
