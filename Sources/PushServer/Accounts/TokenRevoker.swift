internal import PushCore
internal import PushStore

/// Revokes tokens in the store and in the caches of the event loops. If the token belongs to a
/// session, the store also retires the devices that were last registered with this token.
struct TokenRevoker: Sendable {
    let store: any TokenStore
    let authenticator: Authenticator

    /// Revokes a token, and returns as soon as no event loop accepts the token any more. Returns
    /// `false` if there is no token with this prefix.
    @discardableResult
    func revoke(_ prefix: TokenPrefix, by record: AuditRecord) async throws -> Bool {
        guard let fingerprint = try await self.store.revokeToken(prefix, by: record, now: record.at) else {
            return false
        }
        self.authenticator.tokenEnded(fingerprint)
        return true
    }
}
