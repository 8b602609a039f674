package import Foundation
package import PushCore

/// Reads tokens.
package protocol TokenReader: Sendable {
    /// A token's user and grant; `nil` if there is no such token, it has expired, or the user is
    /// disabled.
    func user(
        withToken fingerprint: Fingerprint,
        now: Date
    ) async throws(StoreError) -> (user: User, grant: TokenGrant)?

    /// Whether the code for enrolment exists, has not expired, and belongs to a user who is not
    /// disabled.
    func hasEnrolment(_ code: Fingerprint, now: Date) async throws(StoreError) -> Bool

    /// The valid tokens of one user or of all, in the order of their prefixes; at most `limit`
    /// after `last`.
    func tokens(
        of user: Username?,
        after last: TokenPrefix?,
        limit: Int,
        now: Date
    ) async throws(StoreError) -> [TokenEntry]
}

/// Creates and revokes tokens.
package protocol TokenStore: Sendable {
    /// Creates a token that an administrator gives to a user; `nil` if there is no such user.
    func addToken(
        for name: Username,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord?,
        now: Date
    ) async throws -> BearerToken?

    /// Creates a token for a user who has signed in; `nil` if the password was changed, or the
    /// user disabled or deleted, meanwhile.
    ///
    /// The user's oldest sessions end if there are more than `NewSession.maximumCount`.
    /// `isVouched`: the user has signed in by a certificate or a trusted proxy.
    func addSession(
        for user: User,
        scopes: Scopes,
        expiresAt: Date,
        isVouched: Bool,
        by record: AuditRecord?,
        now: Date
    ) async throws -> NewSession?

    /// Stores a code with which a device of the user gets a session of these scopes, once; `false`
    /// if the password, the role or the apps were changed, or the user disabled or deleted,
    /// meanwhile.
    ///
    /// A code ends whenever the user's sessions end. No list shows codes.
    func addEnrolment(
        _ code: Fingerprint,
        for user: User,
        scopes: Scopes,
        expiresAt: Date,
        by record: AuditRecord?,
        now: Date
    ) async throws -> Bool

    /// Uses a code and begins a session with it; `nil` if the code is missing or expired, or the
    /// user is disabled.
    ///
    /// `record` makes the audit's record for the user and the scopes; the store adds the session's
    /// token to it.
    func redeemEnrolment(
        _ code: Fingerprint,
        expiresAt: Date,
        now: Date,
        by record: @escaping @Sendable (Username, Scopes) -> AuditRecord
    ) async throws -> Enrolment?

    /// Revokes the token of that prefix, and returns its fingerprint; `nil` if there is none. If
    /// the token is a session's, the devices that were last registered with it are retired.
    func revokeToken(_ prefix: TokenPrefix, by record: AuditRecord?, now: Date) async throws -> Fingerprint?

    /// Deletes tokens that have expired; returns how many, at most `limit`. Their devices stay.
    func deleteExpiredTokens(now: Date, limit: Int) async throws -> Int

    /// Records in memory that a token was used; `writeTokenUses` stores it.
    func recordUse(of token: TokenPrefix, now: Date)

    /// Stores some of the recorded uses; returns how many, at most `limit`.
    ///
    /// If the write fails, the next call stores these uses.
    func writeTokenUses(limit: Int) async throws -> Int
}
