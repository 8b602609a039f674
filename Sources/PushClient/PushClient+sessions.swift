internal import PushAPI

extension PushClient {
    /// Exchanges the password for a token, which expires and can be revoked.
    ///
    /// Throws a `forbidden` problem if the client signs in with a token already.
    public func signIn() async throws -> Session {
        let answer = try await self.api.call(APIRequest("POST", Paths.sessions, isRepeatable: false))
        guard let session = answer.json.flatMap(Session.init) else { throw answer.unexpected("a session") }
        return session
    }

    /// Revokes the token that this client signs in with, and deletes all kept values of the account.
    ///
    /// Every later call is `unauthorized`. The kept values are deleted first, so that they are gone even if the call
    /// throws; the token may then remain valid.
    public func signOut() async throws {
        self.records.forgetAll()
        await self.inbox.forget()
        _ = try await self.api.call(APIRequest("DELETE", Paths.currentSession, isRepeatable: false))
    }
}
