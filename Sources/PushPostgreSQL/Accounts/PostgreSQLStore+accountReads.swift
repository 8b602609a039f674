package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func user(named name: Username) async throws(StoreError) -> User? {
        try await self.read(Self.userNamed, self.sealing.index.hash(name)) { rows in
            try rows.first.flatMap { try User($0, named: name, self.sealing) }
        }
    }

    static let userNamed = "select \(UserColumn.list) from account u where name_key = $1"

    package static let accountWithID = "select \(StoredAccount.Column.list) from account where id = $1"
    package static let accountNamed = "select \(StoredAccount.Column.list) from account where name_key = $1"
    package static let anyUser = "select 1 from account limit 1"
    package static let usersAfter = "\(entries) where name_key > $1 order by name_key limit $2"
    package static let entryNamed = "\(entries) where name_key = $1"
    private static let entries = "select \(ListedUserColumn.selected) from account u"

    package static let passwordOf = "select password from account where id = $1 and password_number = $2"
    package static let lastUser = "select max(id) from account"

    /// Selects the password of the first user with the id `$1` or a higher id. If all these users
    /// were deleted meanwhile, selects the password of the last user.
    package static let passwordFrom = """
        select coalesce(
            (select password from account where id >= $1 order by id limit 1),
            (select password from account order by id desc limit 1))
        """

    package func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) async throws(StoreError) -> (user: User, grant: TokenGrant)? {
        try await self.read(Self.tokenInUse, fingerprint.bytes, now.milliseconds) { rows in
            try rows.first.map { try TokenGrant.used($0, fingerprint, self.sealing) }
        }
    }

    static let tokenInUse = """
        select \(TokenColumn.selected) from token t join account u on u.id = t.user_id
        where t.hash = $1 and t.expires_at > $2 and u.disabled_at is null
        """

    package static let codeInUse = """
        select u.id from token t join account u on u.id = t.user_id
        where t.hash = $1 and t.\(Enrolment.isCode) and t.expires_at > $2 and u.disabled_at is null
        """

    private static let tokenEntries = """
        select \(TokenColumn.selected) from token t join account u on u.id = t.user_id
        where t.expires_at > $1 and t.prefix > $2 and not t.\(Enrolment.isCode)
        """
    package static let allTokens = "\(tokenEntries) order by t.prefix limit $3"
    package static let tokensOfOne = "\(tokenEntries) and u.name_key = $4 order by t.prefix limit $3"
}
