package import Foundation
package import PushCore

/// Creates and revokes tokens.
package protocol TokenStore: Sendable {
    /// Creates a token that an administrator issues for a user; `nil` if there is no such user.
    func addToken(for name: Username, _ token: NewToken, by record: AuditRecord?) async throws -> BearerToken?

    /// Creates a session's token for a user who has signed in. `nil` if the password was changed,
    /// or the user disabled or deleted, since the user signed in.
    ///
    /// If the user then has more than `NewSession.maximumCount` sessions, the oldest sessions end.
    func addSession(for user: User, _ token: NewToken, by record: AuditRecord?) async throws -> NewSession?

    /// Stores a code. One device of the user can use it to get a session with the token's scopes.
    /// Returns `false` if the password, the role or the apps were changed, or the user disabled or
    /// deleted, since the user signed in. A code ends whenever the user's sessions end.
    func addEnrolment(
        _ code: Fingerprint,
        for user: User,
        _ token: NewToken,
        by record: AuditRecord?
    ) async throws -> Bool

    /// Uses a code, and begins a session with it. `nil` if the code does not exist or has expired,
    /// or if the user is disabled. The store adds the session's token to the audit's record, which
    /// `record` makes.
    func redeemEnrolment(
        _ code: Fingerprint,
        expiresAt: Date,
        now: Date,
        by record: @escaping @Sendable (Username, Scopes) -> AuditRecord
    ) async throws -> Enrolment?

    /// Revokes the token with this prefix, and returns its fingerprint; `nil` if there is no such
    /// token. Retires the devices that were last registered with it, if it belongs to a session.
    func revokeToken(_ prefix: TokenPrefix, by record: AuditRecord?, now: Date) async throws -> Fingerprint?

    /// Deletes at most `limit` tokens that have expired; returns the number of deleted tokens. The
    /// devices that were registered with them stay.
    func deleteExpiredTokens(now: Date, limit: Int) async throws -> Int

    /// The uses of tokens that are not stored yet.
    var tokenUses: TokenUses { get }

    func store(_ uses: [TokenUses.Use]) async throws
}

extension TokenStore {
    /// Stores at most `limit` of the recorded uses; returns their number. If the write fails, a
    /// later call stores these uses.
    package func writeTokenUses(limit: Int) async throws -> Int {
        try await self.tokenUses.write(limit) { try await self.store($0) }
    }
}
