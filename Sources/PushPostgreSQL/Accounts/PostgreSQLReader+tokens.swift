package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
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

    private static let entries = """
        select \(TokenColumn.selected) from token t join account u on u.id = t.user_id
        where t.expires_at > $1 and t.prefix > $2 and not t.\(Enrolment.isCode)
        """
    package static let allTokens = "\(entries) order by t.prefix limit $3"
    package static let tokensOfOne = "\(entries) and u.name_key = $4 order by t.prefix limit $3"
}
