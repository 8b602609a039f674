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

    package func hasEnrolment(_ code: Fingerprint, now: Date) throws(StoreError) -> Bool {
        try self.read { db in
            try db.first(
                prepared: """
                    select 1 from token t join user u on u.id = t.user_id
                    where t.hash = ? and t.\(Enrolment.isCode) and t.expires_at > ? and u.disabled_at is null
                    """,
                code.bytes,
                now.milliseconds
            ) { _ in true } ?? false
        }
    }

    package func tokens(
        of user: Username?,
        after last: TokenPrefix?,
        limit: Int,
        now: Date
    ) throws(StoreError) -> [TokenEntry] {
        try self.read { db in
            let (now, last) = (now.milliseconds, last?.description ?? "")
            let decode = { (row: borrowing DirectRow) in try TokenEntry(row, self.sealing) }
            let entries =
                if let user {
                    try db.all(
                        prepared: Self.tokensOfOne,
                        now,
                        last,
                        limit,
                        self.sealing.index.hash(user),
                        decode: decode
                    )
                } else {
                    try db.all(prepared: Self.allTokens, now, last, limit, decode: decode)
                }
            return entries.compactMap(\.self)
        }
    }

    static let allTokens = """
        select \(TokenColumn.selected) from token t join user u on u.id = t.user_id
        where \(isListed) order by t.prefix limit ?3
        """

    /// Starts at the user, who has few tokens, while the other users have many.
    static let tokensOfOne = """
        select \(TokenColumn.selected)
        from user u cross join token t indexed by token_by_user on t.user_id = u.id
        where u.name_key = ?4 and \(isListed) order by t.prefix limit ?3
        """

    private static let isListed = "t.expires_at > ?1 and t.prefix > ?2 and not t.\(Enrolment.isCode)"
}
