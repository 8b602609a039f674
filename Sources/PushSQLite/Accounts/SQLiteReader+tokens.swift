package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) throws(StoreError) -> (user: User, grant: TokenGrant)? {
        try self.readRow(Self.tokenInUse, key: fingerprint, now.milliseconds) { row in
            let id = row.integer(TokenColumn.userID)
            guard
                row.integer(TokenColumn.mac) == self.sealing.rows.token(fingerprint, user: id),
                let prefix = TokenPrefix(row.text(TokenColumn.prefix)),
                let role = Role(rawValue: row.text(TokenColumn.role))
            else { throw StoreError.damaged(row: "a token's") }
            let user = User(
                id: id,
                name: try self.sealing.username(row.data(TokenColumn.name), ofUser: id),
                role: role,
                apps: Set(storedApps: row.optionalText(TokenColumn.apps)),
                passwordNumber: row.integer(TokenColumn.passwordNumber),
                isDisabled: false
            )
            let grant = TokenGrant(
                prefix: prefix,
                scopes: Scopes(row.text(TokenColumn.scopes)),
                expiresAt: Date(milliseconds: row.integer(TokenColumn.expiresAt)),
                usedAt: row.date(TokenColumn.usedAt),
                isVouched: row.integer(TokenColumn.isVouched) != 0
            )
            return (user, grant)
        }
    }

    static let tokenInUse = DirectQuery(
        name: .token,
        sql: """
            select \(TokenColumn.list) from token t join user u on u.id = t.user_id
            where t.hash = ?1 and t.expires_at > ?2 and u.disabled_at is null
            """
    )

    package func hasEnrolment(_ code: Fingerprint, now: Date) throws(StoreError) -> Bool {
        try self.read { db in
            try Bool.fetchOne(
                db.cachedStatement(
                    sql: """
                        select exists (
                            select 1 from token t join user u on u.id = t.user_id
                            where t.hash = ? and t.scopes like ? and t.expires_at > ? and u.disabled_at is null)
                        """
                ),
                arguments: [code.bytes, Enrolment.mark + "%", now.milliseconds]
            ) == true
        }
    }

    package func tokens(
        of user: Username?,
        after last: TokenPrefix?,
        limit: Int,
        now: Date
    ) throws(StoreError) -> [TokenEntry] {
        try self.read { db in
            var arguments: [any Bindable] = [now.milliseconds, last?.description ?? "", limit]
            if let user { arguments += [self.sealing.index.hash(user)] }
            return try Row.fetchAll(
                db.cachedStatement(sql: user == nil ? Self.allTokens : Self.tokensOfOne),
                arguments: arguments
            ).compactMap { try TokenEntry($0, self.sealing) }
        }
    }

    static let allTokens = """
        select t.*, u.name from token t join user u on u.id = t.user_id
        where t.expires_at > ?1 and t.prefix > ?2 and \(isToken) order by t.prefix limit ?3
        """

    /// The token is not a code for enrolment.
    private static let isToken = "t.scopes not like '\(Enrolment.mark)%'"

    /// Starts at the user, who has few tokens, while the other users have many.
    static let tokensOfOne = """
        select t.*, u.name from user u cross join token t indexed by token_by_user on t.user_id = u.id
        where u.name_key = ?4 and t.expires_at > ?1 and t.prefix > ?2 and \(isToken) order by t.prefix limit ?3
        """
}

extension TokenEntry {
    /// `nil` if this version cannot have written the row; throws if the name cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let prefix = try TokenPrefix(row["prefix"]) else { return nil }
        self.init(
            prefix: prefix,
            username: try sealing.username(row["name"], ofUser: row["user_id"]),
            isSession: try row["is_session"],
            scopes: try Scopes(row["scopes"] as String),
            createdAt: try Date(milliseconds: row["created_at"]),
            expiresAt: try Date(milliseconds: row["expires_at"]),
            usedAt: try (row["used_at"] as Int64?).map(Date.init(milliseconds:))
        )
    }
}

/// The columns of `tokenInUse`.
private enum TokenColumn: Int32, SelectedColumn {
    case prefix, scopes, expiresAt, usedAt, isVouched, userID, name, role, apps, passwordNumber, mac

    var sql: String {
        switch self {
        case .prefix: "t.prefix"
        case .scopes: "t.scopes"
        case .expiresAt: "t.expires_at"
        case .usedAt: "t.used_at"
        case .isVouched: "t.is_vouched"
        case .userID: "u.id"
        case .name: "u.name"
        case .role: "u.role"
        case .apps: "u.apps"
        case .passwordNumber: "u.password_number"
        case .mac: "t.mac"
        }
    }
}
