package import Foundation
internal import GRDB
package import PushCore

/// What a valid token allows, and until when.
package struct TokenGrant: Sendable, Hashable {
    package let prefix: TokenPrefix
    package let scopes: Scopes
    package let expiresAt: Date
    package let usedAt: Date?
}

/// A token as lists show it.
package struct TokenEntry: Sendable, Hashable {
    package let prefix: TokenPrefix
    package let username: Username
    package let isSession: Bool
    package let scopes: Scopes
    package let createdAt: Date
    package let expiresAt: Date
    package let usedAt: Date?
}

extension Reader {
    /// Whose token that is, and what it allows; `nil` if there is none, it has expired, or the user is disabled.
    package func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) throws(StoreError) -> (user: User, grant: TokenGrant)? {
        let found = try self.readRow(Self.tokenInUse, key: fingerprint, now.milliseconds) {
            row -> (user: User, grant: TokenGrant)? in
            guard
                row.integer(8) == self.sealing.rows.token(fingerprint, user: row.integer(4)),
                let prefix = TokenPrefix(row.text(0)),
                let role = Role(rawValue: row.text(6))
            else { return nil }
            let id = row.integer(4)
            let user = User(
                id: id,
                name: try self.sealing.username(row.data(5), ofUser: id),
                role: role,
                passwordNumber: row.integer(7),
                isDisabled: false
            )
            let grant = TokenGrant(
                prefix: prefix,
                scopes: Scopes(row.text(1)),
                expiresAt: Date(milliseconds: row.integer(2)),
                usedAt: row.date(3)
            )
            return (user, grant)
        }
        if case .some(nil) = found { throw .damaged(row: "a token's") }
        return found ?? nil
    }

    static let tokenInUse = DirectQuery(
        name: .token,
        sql: """
            select t.prefix, t.scopes, t.expires_at, t.used_at, u.id, u.name, u.role, u.password_number, t.seal
            from token t join user u on u.id = t.user_id
            where t.hash = ?1 and t.expires_at > ?2 and u.disabled_at is null
            """
    )

    /// The tokens that are valid, of one user or of all, in the order of their prefixes; at most `limit` behind `last`.
    package func tokens(
        of user: Username?,
        after last: TokenPrefix?,
        limit: Int,
        now: Date
    ) throws(StoreError) -> [TokenEntry] {
        try self.read { db in
            var arguments: StatementArguments = [now.milliseconds, last?.description ?? "", limit]
            if let user { arguments += [self.sealing.index.hash(user)] }
            return try Row.fetchAll(
                db.cachedStatement(sql: user == nil ? Self.allTokens : Self.tokensOfOne),
                arguments: arguments
            ).compactMap { try TokenEntry($0, self.sealing) }
        }
    }

    static let allTokens = """
        select t.*, u.name from token t join user u on u.id = t.user_id
        where t.expires_at > ?1 and t.prefix > ?2 order by t.prefix limit ?3
        """

    /// A user has few, and all the others have many.
    static let tokensOfOne = """
        select t.*, u.name from user u cross join token t indexed by token_by_user on t.user_id = u.id
        where u.name_key = ?4 and t.expires_at > ?1 and t.prefix > ?2 order by t.prefix limit ?3
        """
}

extension TokenEntry {
    /// `nil` if the row is not one that this version has written; throws if the name does not open.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let prefix = try TokenPrefix(row["prefix"]) else { return nil }
        self.prefix = prefix
        self.username = try sealing.username(row["name"], ofUser: row["user_id"])
        self.isSession = try row["is_session"]
        self.scopes = try Scopes(row["scopes"] as String)
        self.createdAt = try Date(milliseconds: row["created_at"])
        self.expiresAt = try Date(milliseconds: row["expires_at"])
        self.usedAt = try (row["used_at"] as Int64?).map(Date.init(milliseconds:))
    }
}

/// A token that was made by signing in.
package struct NewSession: Sendable {
    package let token: BearerToken
    /// The user's oldest sessions, which had to end for it.
    package let ended: [Fingerprint]
}

extension Store {
    /// How many sessions a user has at most.
    package static let maximumSessions = 100

    /// Makes a token that an administrator gives to a user; `nil` if there is no such user.
    package func addToken(
        for name: Username,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord? = nil,
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
        } noting: { [audit] in
            record?.about($0?.prefix, in: audit)
        }
    }

    /// Makes a token for a user who has signed in; `nil` if the password was changed, or the user disabled or deleted,
    /// meanwhile.
    package func addSession(
        for user: User,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord? = nil,
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
                scopes: scopes,
                expiresAt: expiresAt,
                now: now
            )
            let ended = try Data.fetchAll(
                db,
                sql: """
                    delete from token where hash in (
                        select hash from token where user_id = ?1 and is_session and hash <> ?2
                        order by created_at desc limit -1 offset ?3)
                    returning hash
                    """,
                arguments: [user.id, token.fingerprint.bytes, Self.maximumSessions - 1]
            )
            return NewSession(token: token, ended: ended.compactMap { Fingerprint(bytes: $0) })
        } noting: { [audit] in
            record?.about($0?.token.prefix, in: audit)
        }
    }

    /// Ends the token of that prefix, and says which it was; `nil` if there is none.
    package func revokeToken(_ prefix: TokenPrefix, by record: AuditRecord? = nil) async throws -> Fingerprint? {
        try await self.write { db in
            try Data.fetchOne(
                db,
                sql: "delete from token where prefix = ? returning hash",
                arguments: [prefix.description]
            ).flatMap { Fingerprint(bytes: $0) }
        } noting: { [audit] in
            record?.about($0.map { _ in prefix }, in: audit)
        }
    }

    /// Deletes tokens that have expired; returns how many, at most `limit`.
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

    /// Notes in memory that a token was used; `writeTokenUses` stores it.
    package func noteUse(of token: TokenPrefix, now: Date) {
        self.tokenUses.note(token, now: now)
    }

    /// Stores some of the uses that were noted; returns how many, at most `limit`. If that fails, they are stored the next
    /// time.
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

    private func insertToken(
        _ db: Database,
        user: Int64,
        isSession: Bool,
        scopes: Scopes,
        expiresAt: Date,
        now: Date
    ) throws -> BearerToken {
        // Of 62^8 prefixes hardly one is taken.
        while true {
            let token = BearerToken.random()
            try db.execute(
                sql: """
                    insert into token (hash, prefix, user_id, is_session, scopes, created_at, expires_at, seal)
                    values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (prefix) do nothing
                    """,
                arguments: [
                    token.fingerprint.bytes, token.prefix.description, user, isSession, scopes.description,
                    now.milliseconds, expiresAt.milliseconds, self.sealing.rows.token(token.fingerprint, user: user),
                ]
            )
            if db.changesCount == 1 { return token }
        }
    }
}

extension AuditRecord {
    /// The same with the token that it is about; `nil` if there is none, for then nothing was done.
    fileprivate func about(_ token: TokenPrefix?, in audit: AuditTrail) -> AuditRecord? {
        guard let token else { return nil }
        var record = self
        record.detail = "token \(audit.name(of: token))"
        return record
    }
}
