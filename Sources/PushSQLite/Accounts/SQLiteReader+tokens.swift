package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) throws(StoreError) -> (user: User, grant: TokenGrant)? {
        try self.readRow(Self.tokenInUse, key: fingerprint, now.milliseconds) {
            try TokenGrant.used($0, fingerprint, self.sealing)
        }
    }

    static let tokenInUse = DirectQuery(
        name: .token,
        sql: """
            select \(TokenColumn.selected) from token t join user u on u.id = t.user_id
            where t.hash = ?1 and t.expires_at > ?2 and u.disabled_at is null
            """
    )

    package static let codeInUse = """
        select 1 from token t join user u on u.id = t.user_id
        where t.hash = ? and t.\(Enrolment.isCode) and t.expires_at > ? and u.disabled_at is null
        """

    package static let allTokens = """
        select \(TokenColumn.selected) from token t join user u on u.id = t.user_id
        where \(isListed) order by t.prefix limit ?3
        """

    /// The query starts at the user, who has few tokens, and so does not read those of other
    /// users.
    package static let tokensOfOne = """
        select \(TokenColumn.selected)
        from user u cross join token t indexed by token_by_user on t.user_id = u.id
        where u.name_key = ?4 and \(isListed) order by t.prefix limit ?3
        """

    private static let isListed = "t.expires_at > ?1 and t.prefix > ?2 and not t.\(Enrolment.isCode)"
}
