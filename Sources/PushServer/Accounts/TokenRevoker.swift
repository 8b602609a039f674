internal import PushCore
internal import PushStore

/// Revokes tokens in the store and in the caches of the event loops. With a session's token, the
/// store retires the devices that were last registered with it.
struct TokenRevoker: Sendable {
    let store: any TokenStore
    let authenticator: Authenticator

    /// Revokes a token, and returns once no loop accepts it; `false` if there is no such token.
    @discardableResult
    func revoke(_ prefix: TokenPrefix, by record: AuditRecord) async throws -> Bool {
        guard let fingerprint = try await self.store.revokeToken(prefix, by: record, now: record.at) else {
            return false
        }
        self.authenticator.tokenEnded(fingerprint)
        return true
    }
}
