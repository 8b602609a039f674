package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func user(named name: Username) throws(StoreError) -> User? {
        try self.read { db in
            try db.first(SQL(sql: Self.userNamed), self.sealing.index.hash(name)) {
                try User($0, named: name, self.sealing)
            } ?? nil
        }
    }

    private static let userNamed = "select \(UserColumn.list) from account u where name_key = ?"

    package static let passwordOf = "select password from account where id = ? and password_number = ?"
    package static let lastUser = "select max(id) from account"
    package static let passwordFrom = "select password from account where id >= ? order by id limit 1"

    package static let accountWithID = "select \(StoredAccount.Column.list) from account where id = ?"
    package static let accountNamed = "select \(StoredAccount.Column.list) from account where name_key = ?"
    package static let anyUser = "select 1 from account limit 1"
    package static let usersAfter = "\(entries) where name_key > ? order by name_key limit ?"
    package static let entryNamed = "\(entries) where name_key = ?"
    private static let entries = "select \(ListedUserColumn.selected) from account u"

    package func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) throws(StoreError) -> (user: User, grant: TokenGrant)? {
        try self.readDirectly {
            let row = try self.rows(.token, key: fingerprint, now.milliseconds)
            return try row.step() ? TokenGrant.used(row, fingerprint, self.sealing) : nil
        }
    }

    static let tokenInUse = """
        select \(TokenColumn.selected) from token t join account u on u.id = t.user_id
        where t.hash = ?1 and t.expires_at > ?2 and u.disabled_at is null
        """

    package static let codeInUse = """
        select 1 from token t join account u on u.id = t.user_id
        where t.hash = ? and t.\(Enrolment.isCode) and t.expires_at > ? and u.disabled_at is null
        """

    package static let allTokens = """
        select \(TokenColumn.selected) from token t join account u on u.id = t.user_id
        where \(isListed) order by t.prefix limit ?3
        """

    /// Selects the tokens of one user. The query begins with the user, who has few tokens, so it
    /// does not read the tokens of other users.
    package static let tokensOfOne = """
        select \(TokenColumn.selected)
        from account u cross join token t indexed by token_by_user on t.user_id = u.id
        where u.name_key = ?4 and \(isListed) order by t.prefix limit ?3
        """

    private static let isListed = "t.expires_at > ?1 and t.prefix > ?2 and not t.\(Enrolment.isCode)"
}
