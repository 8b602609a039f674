public import Foundation
internal import PushAPI

extension PushClient {
    /// Exchanges the password for a token, which expires and can be revoked.
    ///
    /// From then on the client, and others of the same store and account, take answers for that
    /// account only. If an administrator has deleted the account and created it again, the client
    /// drops all that it has kept of the old one. Throws a `forbidden` problem if the client has a
    /// token already, and the interference ``Interference/Kind/wrongAccount`` if the session
    /// belongs to another name.
    public func signIn() async throws -> Session {
        var request = APIRequest("POST", Paths.sessions, isRepeatable: false)
        request.isSignIn = true
        let answer = try await self.api.call(request)
        guard let session = answer.json.flatMap(Session.init) else { throw answer.unexpected("a session") }
        guard let username = self.credentials.username, let account = try answer.account(of: username) else {
            return session
        }
        do {
            try self.api.own.begin(as: account)
        } catch PushClientError.signedOut {
            // The next client of the account takes it from its own first answer.
        }
        return session
    }

    /// Signs out: at once on this device, in all of its processes, and at the server as soon as it
    /// can be reached.
    ///
    /// All that is kept of the account is removed, and from here on this client and all others
    /// that were made before keep nothing and throw ``PushClientError/signedOut``. The server then
    /// ends the registration and, where the client has a token and no password, the session. What
    /// that takes is kept, sealed, until the server has done so.
    ///
    /// Returns whether the server's own answers for this account say that it has ended them. If
    /// not, call ``finishSignOuts(server:options:store:)`` when there is a network. If the token
    /// is no longer good, or ``Credentials/tokens(account:id:_:)`` have not given one yet, the
    /// client asks the app's closure for one. If the app has none, the account's next session ends
    /// the device, when it registers.
    ///
    /// On a full disk the client removes all that it has kept, too, since removing needs no room.
    /// If it cannot keep the sign-out even then, it asks the server once, and returns `false`
    /// without an answer.
    @discardableResult
    public func signOut() async throws -> Bool {
        let account = self.api.own.id
        let unkept = try await self.inbox.end { registration in
            SignOutOrder(
                self.api.endpoint?.name ?? "",
                self.credentials,
                registration: registration?.id,
                account: account
            )
        }
        return try await CallDeadline.within(self.deadline) {
            if let unkept { return await self.signOuts.carryOut(unkept, at: self.server, self.options) }
            return try await self.signOuts.finish(at: self.server, self.options)
        }
    }

    /// The account's sign-outs, with the app's closure for a token, if there is one.
    var signOuts: SignOuts {
        guard case .provided(let provider) = self.credentials.kind, !TokenProvider.isAsking else {
            return SignOuts(self.records.account)
        }
        return SignOuts(self.records.account) { [deadline] refused in
            // Without one the sign-out waits.
            let token = try? await CallDeadline.race(within: CallDeadline.rest(atMost: deadline)) {
                try await provider.token(insteadOf: refused)
            }
            return token == refused ? nil : token
        }
    }

    /// Tells a server of sign-outs that it does not know yet, of all accounts of a store. Returns
    /// whether all are done.
    ///
    /// What waits for the next session of its account is not done, and costs no request. Call it
    /// at the start of the app and when the network is back. Throws what the server refuses for
    /// now, such as ``PushClientError/busy(_:retryAfter:)``; without a network it returns `false`.
    @discardableResult
    public static func finishSignOuts(
        server: URL,
        options: Options,
        store: AnswerStore
    ) async throws -> Bool {
        try await CallDeadline.within(options.deadline) {
            var isDone = true
            for folder in store.entries.folders() {
                let signOuts = SignOuts(Account(store.entries, folder: folder))
                if try await !signOuts.finish(at: server, options) { isDone = false }
            }
            return isDone
        }
    }
}
