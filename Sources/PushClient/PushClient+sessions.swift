public import Foundation
internal import PushAPI

extension PushClient {
    /// Exchanges the password for a token, which expires and can be revoked.
    ///
    /// From then on, all clients with this store and account name accept only answers for the
    /// session's account id. If an administrator has deleted the account and created it again, the
    /// client drops everything that it has stored for the old account, whose other clients then
    /// throw ``PushClientError/signedOut``. Throws a `forbidden` problem if the client's
    /// credentials are a token already. Throws the interference
    /// ``Interference/Kind/wrongAccount`` if the session in the answer belongs to another user.
    public func signIn() async throws -> Session {
        var request = APIRequest("POST", Paths.sessions, isRepeatable: false)
        request.isSignIn = true
        let answer = try await self.api.call(request)
        guard let session = answer.json.flatMap(Session.init) else { throw answer.unexpected("a session") }
        guard let username = self.credentials.username, let account = try answer.account(of: username) else {
            return session
        }
        do {
            try self.api.own.begin(as: account, token: session.token)
        } catch PushClientError.signedOut {
            // The account was signed out meanwhile. The next client learns the account id from the
            // first answer that it receives.
        }
        return session
    }

    /// Exchanges a one-time code for a token, for users without a password. The code comes from an
    /// administrator or from the app's backend.
    ///
    /// A code does not name an account; the server's answer does. The client needs no credentials:
    /// ``Credentials/none(account:)``.
    public func signInWithCode(_ code: String) async throws -> Session {
        var request = APIRequest("POST", Paths.enrolment, isRepeatable: false)
        (request.isSignIn, request.isAnonymous) = (true, true)
        request.body = .object([.init("Code", .string(code))])
        let answer = try await self.api.call(request)
        guard let session = answer.json.flatMap(Session.init) else { throw answer.unexpected("a session") }
        if let seen = answer.account, seen != session.account {
            throw answer.interference(.wrongAccount, session.account ?? "an account", seen)
        }
        guard let account = session.account else { return session }
        do {
            try self.api.own.begin(as: account, token: session.token)
        } catch PushClientError.signedOut {
            // The account was signed out meanwhile. The next client learns the account id from the
            // first answer that it receives.
        }
        return session
    }

    /// Changes the user's password from `current` to `next`. If `current` is wrong, the problem is
    /// `wrong-password`.
    ///
    /// The server then ends all sessions of the user, including this one, and the registrations of
    /// their devices. So sign in again with the new password, and register this device again.
    ///
    /// If the call throws ``PushClientError/offline(_:)`` or an interference, the server may have
    /// changed the password nevertheless. Sign in with the new password, and if the server refuses
    /// it, with the old one.
    public func changePassword(_ current: String, to next: String) async throws {
        var request = APIRequest("PUT", Paths.ownPassword, isRepeatable: false)
        request.body = .object([.init("Current", .string(current)), .init("New", .string(next))])
        _ = try await self.api.call(request)
    }

    /// Signs out: immediately in all processes on this device, and at the server as soon as the
    /// server can be reached.
    ///
    /// The client removes everything that it has stored for the account. From then on, this client
    /// and all clients of the account that were created before the sign-out store nothing and
    /// throw ``PushClientError/signedOut``. Next, the client asks the server to end the
    /// registration and, if the client's credentials are a token, the session. Until the server
    /// has ended them, the client stores the credentials and the registration id, encrypted.
    ///
    /// Returns whether the server's own answers for this account confirm that registration and
    /// session have ended. If the result is `false`, call
    /// ``finishSignOuts(server:options:store:)`` when there is a network. If the token is no
    /// longer valid, or the client has no token yet, the client asks the closure of
    /// ``Credentials/tokens(account:id:_:)`` for a token. If the closure has no token, the
    /// account's next session ends the registration when it registers the device.
    ///
    /// On a full disk the client still removes everything, because removing needs no free space.
    /// If the client cannot store the sign-out even then, it sends the sign-out to the server
    /// once, and returns `false` if no answer arrives.
    ///
    /// If the store has another account's data, or another client has signed the account out, the
    /// call leaves the stored data, and ends only this client's session. A client that does not
    /// know whose data the store has (``Credentials/token(_:account:id:)``) asks the server first.
    /// If it gets no answer, the call throws as other calls do, and changes nothing.
    ///
    /// A second sign-out of a client returns `false`. If the first one still waits for the server,
    /// the second one sends it again, and returns whether it is complete. With
    /// ``Credentials/none(account:)`` the result is `false`, too.
    @discardableResult
    public func signOut() async throws -> Bool {
        if case .missing = self.credentials.kind { return false }
        let own = self.api.own
        if own.isReplaced { return try await self.endSession(of: own.id) }
        let unstored: SignOutOrder?
        do {
            // The app's closure for tokens may sign out, too; its client cannot ask the server
            // now.
            if !own.ownsStored, !TokenProvider.isAsking { try await self.api.checkOwner() }
            let account = own.id
            unstored = try await self.inbox.end { self.order(registration: $0?.id, account: account) }
        } catch PushClientError.interference(let found) where found.kind == .wrongAccount {
            return try await self.endSession(of: nil)
        } catch PushClientError.signedOut {
            return try await self.endSession(of: own.id)
        }
        return try await BackgroundTime.during("signs out") { try await self.endAtServer(unstored) }
    }

    private func order(registration: String?, account: String?) -> SignOutOrder {
        SignOutOrder(
            self.api.endpoint?.name ?? "",
            self.credentials,
            registration: registration,
            account: account
        )
    }

    /// Ends only this client's session; `account` is its account id, if the client knows it. If
    /// the client has signed out before, sends only the orders that still wait.
    private func endSession(of account: String?) async throws -> Bool {
        let stored = self.records.account
        // Orders that cannot be read now wait for a later call.
        let waiting = (try? stored.signOuts()) ?? []
        var unstored: SignOutOrder?
        if stored.markEnded() {
            let order = self.order(registration: nil, account: account)
            // Without a token there is no session. The app's closure could return the token of the
            // other account.
            guard order.authorization.hasPrefix("Bearer ") else { return false }
            // A waiting order with the same token also ends the session. An order that cannot be
            // written is carried out once.
            let isWaiting = waiting.contains { ($0.server, $0.authorization) == (order.server, order.authorization) }
            if !isWaiting, (try? stored.add(order)) == nil { unstored = order }
        } else if waiting.isEmpty {
            return false
        }
        return try await BackgroundTime.during("signs out") { [unstored] in try await self.endAtServer(unstored) }
    }

    /// `unstored` is the sign-out order, if the store could not write the order.
    private func endAtServer(_ unstored: SignOutOrder?) async throws -> Bool {
        try await CallDeadline.within(self.deadline) {
            if let unstored { return await self.signOuts.carryOut(unstored, at: self.server, self.options) }
            return try await self.signOuts.finish(at: self.server, self.options)
        }
    }

    /// The sign-outs of the account that the server has not confirmed yet. If the app provides
    /// tokens, a sign-out asks the app for one.
    var signOuts: SignOuts {
        guard case .provided(let provider) = self.credentials.kind, !TokenProvider.isAsking else {
            return SignOuts(self.records.account)
        }
        return SignOuts(self.records.account) { [deadline, credentials] refused in
            // Without a token the sign-out waits.
            let token = try? await CallDeadline.race(within: CallDeadline.remaining(atMost: deadline)) {
                try await provider.token(insteadOf: refused)
            }
            guard let token, token != refused, credentials.fault("Bearer \(token)") == nil else { return nil }
            return token
        }
    }

    /// Completes, at one server, the waiting sign-outs of all accounts in a store. Returns whether
    /// all of them are complete.
    ///
    /// A sign-out that only the next session of its account can complete keeps waiting, and the
    /// client sends no request for it. Call this at the start of the app and when the network is
    /// back. Throws temporary refusals of the server, such as
    /// ``PushClientError/busy(_:retryAfter:)``; without a network the call returns `false`.
    @discardableResult
    public static func finishSignOuts(
        server: URL,
        options: Options,
        store: Store
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
