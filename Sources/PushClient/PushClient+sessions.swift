internal import PushAPI

extension PushClient {
    /// Exchanges the password for a token, which can be ended and ends by itself.
    ///
    /// A client that shows a token already is refused with a `forbidden` problem.
    public func signIn() async throws -> Session {
        let answer = try await self.api.call(APIRequest("POST", Paths.sessions, isRepeatable: false))
        guard let session = answer.json.flatMap(Session.init) else { throw answer.unexpected("a session") }
        return session
    }

    /// Ends the token that this client shows, and deletes all kept values of the account.
    ///
    /// Every later call is `unauthorized`. The kept values go first, so that they are gone also if the call throws; the
    /// token then still is good.
    public func signOut() async throws {
        self.records.forgetAll()
        await self.inbox.forget()
        _ = try await self.api.call(APIRequest("DELETE", Paths.currentSession, isRepeatable: false))
    }
}
