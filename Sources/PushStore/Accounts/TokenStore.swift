package import Foundation
package import PushCore

/// Reads tokens.
package protocol TokenReader: Sendable {
    /// Whose token that is, and what it allows; `nil` if there is none, it has expired, or the user is disabled.
    func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) async throws(StoreError) -> (user: User, grant: TokenGrant)?

    /// The tokens that are valid, of one user or of all, in the order of their prefixes; at most `limit` behind `last`.
    func tokens(
        of user: Username?,
        after last: TokenPrefix?,
        limit: Int,
        now: Date
    ) async throws(StoreError) -> [TokenEntry]
}

/// Makes and ends tokens.
package protocol TokenStore: Sendable {
    /// Makes a token that an administrator gives to a user; `nil` if there is no such user.
    func addToken(
        for name: Username,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord?,
        now: Date
    ) async throws -> BearerToken?

    /// Makes a token for a user who has signed in; `nil` if the password was changed, or the user disabled or deleted,
    /// meanwhile. The user's oldest sessions end where there are more than `NewSession.maximumCount`.
    func addSession(
        for user: User,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord?,
        now: Date
    ) async throws -> NewSession?

    /// Ends the token of that prefix, and says which it was; `nil` if there is none.
    func revokeToken(_ prefix: TokenPrefix, by record: AuditRecord?) async throws -> Fingerprint?

    /// Deletes tokens that have expired; returns how many, at most `limit`.
    func deleteExpiredTokens(now: Date, limit: Int) async throws -> Int

    /// Notes in memory that a token was used; `writeTokenUses` stores it.
    func noteUse(of token: TokenPrefix, now: Date)

    /// Stores some of the uses that were noted; returns how many, at most `limit`. If that fails, they are stored the next
    /// time.
    func writeTokenUses(limit: Int) async throws -> Int
}
