internal import PushCore
internal import PushStore

/// Ends tokens in the store and in what the loops remember.
struct TokenRevoker: Sendable {
    let store: any TokenStore
    let authenticator: Authenticator

    /// Returns once no loop takes the token any more; `false` if there is none.
    @discardableResult
    func revoke(_ prefix: TokenPrefix, by record: AuditRecord) async throws -> Bool {
        guard let fingerprint = try await self.store.revokeToken(prefix, by: record) else { return false }
        self.authenticator.tokenEnded(fingerprint)
        return true
    }
}
