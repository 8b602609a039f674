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
            try rows.first.map { try TokenGrant.used($0, fingerprint, sealing) }
        }
    }

    static let tokenInUse = """
        select \(TokenColumn.selected) from token t join account u on u.id = t.user_id
        where t.hash = $1 and t.expires_at > $2 and u.disabled_at is null
        """

    package func hasEnrolment(_ code: Fingerprint, now: Date) async throws(StoreError) -> Bool {
        try await self.read(Self.codeInUse, code.bytes, now.milliseconds) { $0.count == 1 }
    }

    static let codeInUse = """
        select u.id from token t join account u on u.id = t.user_id
        where t.hash = $1 and t.\(Enrolment.isCode) and t.expires_at > $2 and u.disabled_at is null
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
        select \(TokenColumn.selected) from token t join account u on u.id = t.user_id
        where t.expires_at > $1 and t.prefix > $2 and not t.\(Enrolment.isCode)
        """
    static let allTokens = "\(entries) order by t.prefix limit $3"
    static let tokensOfOne = "\(entries) and u.name_key = $4 order by t.prefix limit $3"
}
