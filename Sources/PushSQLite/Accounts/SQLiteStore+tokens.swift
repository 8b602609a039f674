package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func addToken(for name: Username, _ token: NewToken, by record: AuditRecord?) async throws -> BearerToken? {
        try await self.writer.write { db in
            guard let user = try self.account(name, db)?.id else { return nil }
            return try self.insert(TokenRow(for: user, isSession: false, token), by: record, db)
        }
    }

    package func addSession(for user: User, _ token: NewToken, by record: AuditRecord?) async throws -> NewSession? {
        try await self.writer.write { db in
            guard try self.account(user.id, db)?.admits(user) == true else { return nil }
            return try self.beginSession(TokenRow(for: user.id, isSession: true, token), by: record, db)
        }
    }

    /// Inserts a session. If the user now has more sessions than allowed, ends the oldest
    /// sessions.
    func beginSession(_ row: TokenRow, by record: AuditRecord?, _ db: Database) throws -> NewSession {
        let token = try self.insert(row, by: record, db)
        let ended = try db.all(
            """
            delete from token where hash in (
                select hash from token where user_id = \(row.user) and is_session and hash <> \(token.fingerprint.bytes)
                order by created_at desc, hash desc limit -1 offset \(NewSession.maximumCount - 1))
            returning hash
            """
        ) { try Fingerprint(bytes: $0.data()) }
        return NewSession(token: token, ended: ended.compactMap(\.self))
    }

    package func revokeToken(_ prefix: TokenPrefix, by record: AuditRecord?, now: Date) async throws -> Fingerprint? {
        try await self.writer.write { db in
            let devices = try db.all(SQL(sql: Self.devicesOfSession), prefix.description, decode: EndingDevice.init)
            try self.write(DeviceEnds(ofSessions: devices, by: record), db, now: now)
            let token = try db.first("delete from token where prefix = \(prefix.description) returning hash") {
                try Fingerprint(bytes: $0.data())
            }
            guard let token = token ?? nil else { return nil }
            try self.audit.append([record?.about(prefix, in: self.audit.chain)], to: db)
            return token
        }
    }

    package func deleteExpiredTokens(now: Date, limit: Int) async throws -> Int {
        try await self.writer.write(.housekeeping) { db in
            try db.run(
                """
                delete from token where hash in (
                    select hash from token where expires_at <= \(now.milliseconds) order by expires_at limit \(limit))
                """
            )
        }
    }

    package func store(_ uses: [TokenUses.Use]) async throws {
        try await self.writer.write(.housekeeping) { db in
            for (token, at) in uses {
                try db.run("update token set used_at = \(at.milliseconds) where prefix = \(token.description)")
            }
        }
    }

    /// Inserts a random token, or an enrolment code. Adds a record that names the token to the
    /// audit.
    func insert(
        _ row: TokenRow,
        as code: Fingerprint? = nil,
        by record: AuditRecord?,
        _ db: Database
    ) throws -> BearerToken {
        // There are 62^8 prefixes, so the same prefix hardly ever occurs twice. If it does, the
        // loop tries another prefix. An enrolment code also gets a prefix, although nobody sees
        // it.
        while true {
            let token = BearerToken.random()
            let hash = code ?? token.fingerprint
            let inserted = try db.run(
                """
                insert into token (hash, prefix, user_id, is_session, is_vouched, scopes, created_at, expires_at,
                    mac)
                values (\(hash.bytes), \(token.prefix.description), \(row.user), \(row.isSession),
                    \(row.token.isVouched), \(row.scopes), \(row.token.createdAt.milliseconds),
                    \(row.token.expiresAt.milliseconds),
                    \(self.sealing.rows.token(hash, user: row.user))) on conflict (prefix) do nothing
                """
            )
            guard inserted == 1 else { continue }
            if let record { try self.audit.append(record.about(token.prefix, in: self.audit.chain), to: db) }
            return token
        }
    }
}

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
                    order by created_at desc, hash desc limit -1 offset \(Enrolment.maximumCount - 1))
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
            let found = try db.first(SQL(sql: sql), code.bytes, now.milliseconds) {
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
