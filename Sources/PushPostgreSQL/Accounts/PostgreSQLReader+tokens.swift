package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) async throws(StoreError) -> (user: User, grant: TokenGrant)? {
        let sealing = self.store.sealing
        return try await self.read(Self.tokenInUse, fingerprint.bytes, now.milliseconds) { rows in
            try rows.first.map { row in
                let id = try row.integer(0)
                guard
                    try row.integer(5) == sealing.rows.token(fingerprint, user: id),
                    let role = Role(rawValue: try row.text(2)),
                    let prefix = TokenPrefix(try row.text(6))
                else { throw StoreError.damaged(row: "a token's") }
                let user = User(
                    id: id,
                    name: try sealing.username(row.data(1), ofUser: id),
                    role: role,
                    apps: Set(storedApps: try row.optionalText(3)),
                    passwordNumber: try row.integer(4),
                    isDisabled: false
                )
                let grant = TokenGrant(
                    prefix: prefix,
                    scopes: Scopes(try row.text(7)),
                    expiresAt: Date(milliseconds: try row.integer(8)),
                    usedAt: try row.optionalInteger(9).map(Date.init(milliseconds:)),
                    isVouched: try row.boolean(10)
                )
                return (user, grant)
            }
        }
    }

    static let tokenInUse = """
        select u.id, u.name, u.role, u.apps, u.password_number, t.mac, t.prefix, t.scopes, t.expires_at, t.used_at,
            t.is_vouched
        from token t join account u on u.id = t.user_id
        where t.hash = $1 and t.expires_at > $2 and u.disabled_at is null
        """

    package func hasEnrolment(_ code: Fingerprint, now: Date) async throws(StoreError) -> Bool {
        try await self.read(Self.codeInUse, code.bytes, now.milliseconds) { $0.count == 1 }
    }

    static let codeInUse = """
        select u.id from token t join account u on u.id = t.user_id
        where t.hash = $1 and t.scopes like '\(Enrolment.mark)%' and t.expires_at > $2 and u.disabled_at is null
        """

    package func tokens(
        of user: Username?,
        after last: TokenPrefix?,
        limit: Int,
        now: Date
    ) async throws(StoreError) -> [TokenEntry] {
        let sealing = self.store.sealing
        let (now, last) = (now.milliseconds, last?.description ?? "")
        if let user {
            return try await self.read(Self.tokensOfOne, now, last, limit, sealing.index.hash(user)) { rows in
                try rows.compactMap { try TokenEntry($0, sealing) }
            }
        }
        return try await self.read(Self.allTokens, now, last, limit) { rows in
            try rows.compactMap { try TokenEntry($0, sealing) }
        }
    }

    private static let entries = """
        select u.id, u.name, t.prefix, t.is_session, t.scopes, t.created_at, t.expires_at, t.used_at
        from token t join account u on u.id = t.user_id where t.expires_at > $1 and t.prefix > $2
            and t.scopes not like '\(Enrolment.mark)%'
        """
    static let allTokens = "\(entries) order by t.prefix limit $3"
    static let tokensOfOne = "\(entries) and u.name_key = $4 order by t.prefix limit $3"
}

extension TokenEntry {
    /// `nil` if this version cannot have written the row; throws if the name cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let prefix = TokenPrefix(try row.text(2)) else { return nil }
        self.init(
            prefix: prefix,
            username: try sealing.username(row.data(1), ofUser: row.integer(0)),
            isSession: try row.boolean(3),
            scopes: Scopes(try row.text(4)),
            createdAt: Date(milliseconds: try row.integer(5)),
            expiresAt: Date(milliseconds: try row.integer(6)),
            usedAt: try row.optionalInteger(7).map(Date.init(milliseconds:))
        )
    }
}
