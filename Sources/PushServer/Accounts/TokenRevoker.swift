internal import PushCore
internal import PushStore

/// Revokes tokens in the store, together with the devices that their sessions have registered, and
/// in the caches of the event loops.
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
