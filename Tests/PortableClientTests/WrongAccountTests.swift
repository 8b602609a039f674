import ClientPeers
import Foundation
import HTTPSignatures
import PushAPI
import PushClient
import Testing

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Cryptography
#endif

/// A proxy has its own account. It sends requests with this account and the client's `MyToken`,
/// and the server signs the answers.
@Suite(.timeLimit(.minutes(5))) struct WrongAccountTests {
    private static let key = SigningKey()
    private static let options = PushClient.Options(testing: [Self.key.publicKey])
    private static let other = "bWFsbG9yeSdzLW93bi1hYw"

    /// Returns the script of a server that answers every request for this account. With `nil`, the
    /// server sends no account ids.
    private static func script(_ server: ListServer, _ account: String?, name: String = "alice") -> ProtocolPeer.Script
    {
        { request, _ in
            let (status, body): (Int, String) =
                switch (request.method, request.path) {
                case ("POST", "/api/register"): (200, #""id-1""#)
                case ("PUT", _), ("DELETE", _): (204, "")
                case ("POST", Paths.sessions), ("POST", Paths.enrolment): (201, Self.session(account, name))
                case ("GET", Paths.currentSession): (200, Self.session(account, name))
                case ("GET", Paths.notifications):
                    (200, Samples.list([Samples.item(account == Self.other ? 9 : 7)], cursor: "c"))
                default: (200, Samples.item(7))
                }
            return .answer(PeerAnswer(to: request, status: status, body: body, key: Self.key, account: account))
        }
    }

    private static func session(_ account: String?, _ name: String) -> String {
        let members = account.map { #""Account":"\#($0)","# } ?? ""
        return #"{"Name":"\#(name)",\#(members)"Token":"spt_1","ExpiresAt":"2099-01-01T00:00:00Z"}"#
    }

    private static func script(_ account: String?, name: String = "alice") -> ProtocolPeer.Script {
        self.script(ListServer(), account, name: name)
    }

    private static func gone(_ code: ProblemCode, _ account: String) -> ProtocolPeer.Script {
        { request, _ in
            let body = String(decoding: Problem(code).json.bytes, as: UTF8.self)
            return .answer(PeerAnswer(to: request, status: code.status, body: body, key: Self.key, account: account))
        }
    }

    private static func isRefused(_ call: () async throws -> Void) async -> Bool {
        do {
            try await call()
            return false
        } catch PushClientError.interference(let interference) {
            return interference.kind == .wrongAccount
        } catch {
            return false
        }
    }

    @Test(arguments: [Self.other, "none"]) func answerForAnotherAccountChangesNothing(account: String) async throws {
        try await ProtocolPeer.run(Self.script(PeerAnswer.account)) { peer async throws in
            let client = peer.client(options: Self.options)
            try await client.register(platform: "apns", handle: "a")
            let inbox = try await client.sync().value.notifications
            let item = try await client.notification(7).value
            for script in [
                Self.script(account), Self.gone(.notFound, account), Self.gone(.registrationGone, account),
            ] {
                peer.play(script)
                let list = try await client.sync()
                guard case .cached(let shown, _, .interference(let interference)) = list else {
                    Issue.record("\(list)")
                    continue
                }
                #expect(shown.notifications == inbox && interference.kind == .wrongAccount)
                let fetched = try await client.notification(7)
                #expect(fetched.date != nil && fetched.value == item)
                #expect(await Self.isRefused { try await client.register(platform: "apns", handle: "b") })
                #expect(await Self.isRefused { try await client.unregister() })
                #expect(await Self.isRefused { try await client.markRead(7) })
                #expect(await Self.isRefused { try await client.dismiss(7) })
                #expect(await Self.isRefused { _ = try await client.send("x") })
            }
            #expect(client.registrationID == "id-1")
            peer.play(Self.script(PeerAnswer.account))
            #expect(try await client.sync().date == nil)
        }
    }

    /// The first answer to a request with a token sets the account for all clients of the store.
    @Test func firstAnswerToATokenSetsTheAccount() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Self.script(PeerAnswer.account)) { peer async throws in
            _ = try await peer.client(options: Self.options, store: store).sync()
            peer.play(Self.script(Self.other))
            #expect(await Self.isRefused { try await peer.client(options: Self.options, store: store).markRead(7) })
            // For an account with another name, the store contains no account id yet.
            let others = peer.client(.token("u", account: "bob"), options: Self.options, store: store)
            #expect(try await others.sync().date == nil)
        }
    }

    @Test func appThatKnowsItsAccountAcceptsNoOther() async throws {
        try await ProtocolPeer.run(Self.script(Self.other)) { peer async throws in
            let credentials = PushClient.Credentials.token("t", account: "alice", id: PeerAnswer.account)
            #expect(await Self.isRefused { _ = try await peer.client(credentials, options: Self.options).sync() })
        }
    }

    @Test(arguments: [true, false]) func usernameOfThePasswordSetsTheAccount(isSignIn: Bool) async throws {
        let credentials = PushClient.Credentials.basic(username: "Alice", password: "p")
        try await ProtocolPeer.run(Self.script(Self.other, name: "mallory")) { peer async throws in
            let store = PushClient.Store.memory
            let client = peer.client(credentials, options: Self.options, store: store)
            func call(_ client: PushClient) async throws {
                if isSignIn { _ = try await client.signIn() } else { _ = try await client.sync() }
            }
            #expect(await Self.isRefused { try await call(client) })
            #expect(peer.requests.count == 1, "nothing else is asked of somebody else")
            peer.play(Self.script(PeerAnswer.account))
            try await call(client)
            peer.play(Self.script(Self.other, name: "mallory"))
            let session = peer.client(.token("spt_1", account: "Alice"), options: Self.options, store: store)
            #expect(await Self.isRefused { try await session.markRead(7) })
        }
    }

    @Test func recreatedAccountStartsEmpty() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Self.script(Self.other)) { peer async throws in
            let client = peer.client(options: Self.options, store: store)
            try await client.register(platform: "apns", handle: "a")
            #expect(try await client.sync().value.notifications.map(\.id) == [9])
            peer.play(Self.script(PeerAnswer.account))
            let password = PushClient.Credentials.challenged(username: "alice", password: "p")
            let session = try await peer.client(password, options: Self.options, store: store).signIn()
            #expect(session.account == PeerAnswer.account)
            let next = peer.client(.token(session.token, account: "alice"), options: Self.options, store: store)
            #expect(try await next.cachedInbox().notifications.isEmpty)
            #expect(next.registrationID == nil)
            #expect(try await next.sync().value.notifications.map(\.id) == [7])
        }
    }

    /// Nobody has signed the former account out, and another person signs in under the same name.
    @Test(arguments: [false, true], [false, true])
    func theNextAccountInheritsNothing(isSignIn: Bool, isOffline: Bool) async throws {
        let folder = try ScratchFolder()
        let key = SymmetricKey(size: .bits256)
        @Sendable func client(_ peer: ProtocolPeer, _ credentials: PushClient.Credentials) -> PushClient {
            let store = PushClient.Store.folder(URL(fileURLWithPath: folder.path), key: key)
            return peer.client(credentials, options: Self.options, store: store)
        }
        try await ProtocolPeer.run(Self.script(Self.other)) { peer async throws in
            let credentials = PushClient.Credentials.token("t", account: "shared", id: Self.other)
            let former = [client(peer, credentials), client(peer, credentials)]
            // A client without an account id that has had no answer, and one without a token.
            let silent = client(peer, .token("s", account: "shared"))
            let idle = client(peer, .tokens(account: "shared") { _ in "token of the next account" })
            if !isOffline {
                try await former[0].register(platform: "apns", handle: "a")
                #expect(try await former[0].sync().value.notifications.map(\.id) == [9])
            }
            try await former[0].outbox.send("by the former account")
            peer.play(Self.script(PeerAnswer.account))
            var token = PushClient.Credentials.token("u", account: "shared", id: PeerAnswer.account)
            if isSignIn {
                let session = try await client(peer, .none(account: "shared")).signInWithCode("code")
                token = .token(session.token, account: "shared")
            }
            let next = client(peer, token)
            #expect(try await next.outbox.count == 0)
            #expect(try await next.cachedInbox().notifications.isEmpty)
            #expect(next.registrationID == nil)
            #expect(try await next.sync().value.notifications.map(\.id) == [7])
            var count = peer.requests.count
            for client in former {
                await #expect(throws: PushClientError.signedOut) { try await client.cachedInbox() }
                await #expect(throws: PushClientError.signedOut) { try await client.cachedNotification(7) }
                await #expect(throws: PushClientError.signedOut) { try await client.changes(for: "search") }
                await #expect(throws: PushClientError.signedOut) { try await client.sync() }
                await #expect(throws: PushClientError.signedOut) { try await client.outbox.send("late") }
                #expect(await client.cachedBadge() == nil)
            }
            #expect(peer.requests.count == count)
            // The former account's sign-out ends its own session, and nothing of the next account.
            peer.play { _, _ in .hangUp }
            #expect(try await !former[0].signOut())
            peer.play(Self.script(Self.other))
            count = peer.requests.count
            #expect(try await former[1].signOut())
            #expect(try await silent.signOut())
            #expect(try await !idle.signOut())
            // The order of the first client is that of the second one, too.
            let ends = Self.ends(of: "t", count: 1) + Self.ends(of: "s", count: 1)
            #expect(peer.requests.dropFirst(count).map { Self.text($0) } == ends)
            #expect(try await next.cachedInbox().notifications.map(\.id) == [7])
        }
    }

    /// The app's closure returns another user's token: the first one of a client, or in place of a
    /// refused one. The other user would get the payload.
    @Test(arguments: [true, false]) func noPayloadIsSentWithATokenOfAnotherAccount(isFirst: Bool) async throws {
        let accounts = ["Bearer t": PeerAnswer.account, "Bearer u": Self.other]
        let isRefused = Locked(false)
        let script: ProtocolPeer.Script = { request, index in
            let token = request.fields["authorization"] ?? ""
            guard token == "Bearer t", isRefused.withLock({ $0 }) else {
                return Self.script(accounts[token])(request, index)
            }
            return .answer(PeerAnswer(to: request, .tokenExpired, key: Self.key))
        }
        try await ProtocolPeer.run(script) { peer async throws in
            let next = Locked(isFirst ? "u" : "t")
            let credentials = PushClient.Credentials.tokens(account: "alice", id: PeerAnswer.account) { _ in
                next.withLock { $0 }
            }
            let client = peer.client(credentials, options: Self.options)
            func posts() -> Int { peer.requests.count { $0.method == "POST" } }
            if !isFirst { _ = try await client.send("with the own token") }
            let count = posts()
            next.withLock { $0 = "u" }
            isRefused.withLock { $0 = true }
            try await client.outbox.send("for alice")
            for _ in 0..<2 {
                #expect(await Self.isRefused { try await client.outbox.flush() })
                #expect(await Self.isRefused { _ = try await client.send("for alice, too") })
            }
            let withOther = peer.requests.filter { $0.fields["authorization"] == "Bearer u" }
            #expect(Set(withOther.map(\.path)) == [Paths.currentSession])
            #expect(posts() - count == (isFirst ? 0 : 1), "the first attempt had the refused token")
            #expect(try await client.outbox.count == 1)
        }
    }

    /// The app has one name for all of its users, and gives no account id. After a user has signed
    /// in, a part of the app still has the token of the user before.
    @Test(arguments: [false, true]) func aTokenOfAnotherAccountShowsAndSendsNothing(isProvided: Bool) async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Self.script(Self.other)) { peer async throws in
            func client(_ credentials: PushClient.Credentials) -> PushClient {
                peer.client(credentials, options: Self.options, store: store)
            }
            let session = try await client(.none(account: "shared")).signInWithCode("code")
            let credentials = PushClient.Credentials.token(session.token, account: "shared")
            try await client(credentials).register(platform: "apns", handle: "a")
            #expect(try await client(credentials).sync().value.notifications.map(\.id) == [9])
            try await client(credentials).outbox.send("by the user of the store")

            peer.play(Self.script(PeerAnswer.account))
            let count = peer.requests.count
            func former() -> PushClient {
                client(isProvided ? .tokens(account: "shared") { _ in "t" } : .token("t", account: "shared"))
            }
            #expect(try await former().cachedInbox().notifications.isEmpty)
            #expect(try await former().cachedNotification(9) == nil)
            #expect(await former().cachedBadge() == nil)
            #expect(former().registrationID == nil)
            #expect(try await former().outbox.count == 0)
            #expect(peer.requests.count == count)
            #expect(await Self.isRefused { _ = try await former().sync() })
            #expect(await Self.isRefused { try await former().outbox.flush() })
            #expect(await Self.isRefused { try await former().outbox.send("by the former user") })
            #expect(await Self.isRefused { _ = try await former().changes(for: "search") })
            #expect(await Self.isRefused { _ = try await former().notification(9) })
            #expect(await Self.isRefused { try await former().markRead(9) })
            #expect(await Self.isRefused { _ = try await former().send("x") })
            #expect(await Self.isRefused { try await former().unregister() })
            #expect(await Self.isRefused { try await former().joinTopic("news") })
            #expect(await Self.isRefused { try await former().registerIfNeeded(platform: "apns", handle: "a") })
            #expect(Set(peer.requests.dropFirst(count).map(\.path)) == [Paths.currentSession])

            let user = client(credentials)
            #expect(try await user.cachedInbox().notifications.map(\.id) == [9])
            #expect(try await user.outbox.count == 1)
            #expect(user.registrationID == "id-1")
        }
    }

    /// The sign-out ends the session of the token, whose account is not that of the stored data.
    @Test(arguments: [false, true]) func aTokenOfAnotherAccountSignsOutOnlyItself(isProvided: Bool) async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Self.script(Self.other)) { peer async throws in
            let user = peer.client(.token("u", account: "shared"), options: Self.options, store: store)
            try await user.register(platform: "apns", handle: "a")
            #expect(try await user.sync().value.notifications.map(\.id) == [9])
            let credentials: PushClient.Credentials =
                isProvided ? .tokens(account: "shared") { _ in "t" } : .token("t", account: "shared")
            let former = peer.client(credentials, options: Self.options, store: store)

            peer.play { _, _ in .hangUp }
            let lost = PushClientError.offline(.networkConnectionLost)
            await #expect(throws: lost) { try await former.registerIfNeeded(platform: "apns", handle: "a") }
            await #expect(throws: lost) { try await former.signOut() }
            peer.play(Self.script(PeerAnswer.account))
            let count = peer.requests.count
            #expect(try await former.signOut())
            #expect(
                peer.requests.dropFirst(count).map { Self.text($0) }
                    == ["GET \(Paths.currentSession) Bearer t"] + Self.ends(of: "t", count: 1)
            )
            #expect(try await PushClient.finishSignOuts(server: peer.url, options: peer.options(), store: store))
            #expect(peer.requests.count == count + 2)
            #expect(try await user.cachedInbox().notifications.map(\.id) == [9])
            #expect(user.registrationID == "id-1")
        }
    }

    /// The account that has replaced the client's account in the store has signed out, too.
    @Test(arguments: [false, true], [false, true])
    func aReplacedClientEndsItsOwnSession(hasID: Bool, isOffline: Bool) async throws {
        let store = PushClient.Store.memory
        let accounts = ["Bearer a": PeerAnswer.account, "Bearer b": Self.other]
        let ended = Locked<[String]>([])
        let online: ProtocolPeer.Script = { request, index in
            let token = request.fields["authorization"] ?? ""
            if ended.withLock({ $0.contains(token) }) {
                return .answer(PeerAnswer(to: request, .unauthorized, key: Self.key))
            }
            let isEnd = (request.method, request.path) == ("DELETE", Paths.currentSession)
            if isEnd { ended.withLock { $0.append(token) } }
            return Self.script(accounts[token])(request, index)
        }
        try await ProtocolPeer.run(online) { peer async throws in
            func client(_ token: String, _ id: String?) -> PushClient {
                peer.client(.token(token, account: "main", id: id), options: Self.options, store: store)
            }
            let former = client("a", hasID ? PeerAnswer.account : nil)
            try await former.register(platform: "apns", handle: "a")
            let next = client("b", Self.other)
            _ = try await next.sync()
            #expect(try await next.signOut())
            #expect(ended.withLock { $0 } == ["Bearer b"])
            if isOffline {
                peer.play { _, _ in .hangUp }
                #expect(try await !former.signOut())
                peer.play(online)
            }
            #expect(try await former.signOut())
            #expect(ended.withLock { $0 } == ["Bearer b", "Bearer a"])
            let count = peer.requests.count
            #expect(try await !former.signOut())
            #expect(peer.requests.count == count)
        }
    }

    private static func text(_ request: PeerRequest) -> String {
        "\(request.method) \(request.path) \(request.fields["authorization"] ?? "")"
    }

    private static func ends(of token: String, count: Int) -> [String] {
        Array(repeating: "DELETE \(Paths.currentSession) Bearer \(token)", count: count)
    }

    @Test func aRenewedTokenShowsTheCacheAfterAnAnswer() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Self.script(PeerAnswer.account)) { peer async throws in
            func client(_ token: String) -> PushClient {
                peer.client(.token(token, account: "alice"), options: Self.options, store: store)
            }
            _ = try await client("t").sync()
            try await client("t").outbox.send("with the first token")
            peer.play { _, _ in .hangUp }
            let renewed = client("u")
            #expect(try await renewed.cachedInbox().notifications.isEmpty)
            let lost = PushClientError.offline(.networkConnectionLost)
            await #expect(throws: lost) { try await renewed.outbox.send("x") }
            await #expect(throws: lost) { try await renewed.sync() }
            #expect(try await client("t").outbox.count == 1)

            peer.play(Self.script(PeerAnswer.account))
            let count = peer.requests.count
            #expect(try await renewed.sync().value.notifications.map(\.id) == [7])
            #expect(
                peer.requests.dropFirst(count).map { "\($0.method) \($0.path)" } == [
                    "GET \(Paths.currentSession)", "POST \(Paths.notifications)", "GET \(Paths.notifications)",
                ]
            )

            peer.play { _, _ in .hangUp }
            for token in ["t", "u"] {
                #expect(try await client(token).cachedInbox().notifications.map(\.id) == [7])
            }
            // The app's closure has a token that the store knows, so a task needs no network.
            let provided = PushClient.Credentials.tokens(account: "alice") { _ in "u" }
            let next = peer.client(provided, options: Self.options, store: store)
            #expect(try await next.cachedInbox().notifications.isEmpty)
            try await next.outbox.dismiss(7)
            #expect(try await next.outbox.count == 1)
            #expect(try await client("t").cachedInbox().notifications.isEmpty)
        }
    }

    /// The sign-out still waits after a restart of the app, because its order is stored in the
    /// folder.
    @Test func aSignOutThatReachesAnotherAccountWaits() async throws {
        let folder = try ScratchFolder()
        let key = SymmetricKey(size: .bits256)
        @Sendable func store() -> PushClient.Store { .folder(URL(fileURLWithPath: folder.path), key: key) }
        try await ProtocolPeer.run(Self.script(PeerAnswer.account)) { peer async throws in
            let client = peer.client(.token("spt_1", account: "alice"), options: Self.options, store: store())
            try await client.register(platform: "apns", handle: "a")
            for account in [Self.other, "none"] {
                peer.play(Self.script(account))
                if account == Self.other { #expect(try await !client.signOut()) }
                #expect(
                    try await !PushClient.finishSignOuts(
                        server: peer.url,
                        options: peer.options(Self.options),
                        store: store()
                    )
                )
            }
            await #expect(throws: PushClientError.signedOut) { try await client.cachedInbox() }
            peer.play(Self.script(PeerAnswer.account))
            let options = peer.options(Self.options)
            let count = peer.requests.count
            #expect(try await PushClient.finishSignOuts(server: peer.url, options: options, store: store()))
            #expect(peer.requests.count == count + 2)
        }
    }

    /// The client has a password, and registered the device before it knew its account's id. So
    /// the sign-out ends a registration only if it belongs to the user's name.
    @Test func aSignOutWithAPasswordIsTiedToTheName() async throws {
        let store = PushClient.Store.memory
        let password = PushClient.Credentials.basic(username: "alice", password: "p")
        try await ProtocolPeer.run(Self.script(nil)) { peer async throws in
            let client = peer.client(password, options: Self.options, store: store)
            try await client.register(platform: "apns", handle: "a")
            peer.play(Self.script(Self.other, name: "mallory"))
            #expect(try await !client.signOut())
            #expect(peer.requests.last?.path == Paths.currentSession, "nothing is ended for somebody else")
            peer.play(Self.script(PeerAnswer.account))
            let options = peer.options(Self.options)
            #expect(try await PushClient.finishSignOuts(server: peer.url, options: options, store: store))
            #expect(peer.requests.last?.method == "DELETE")
        }
    }

    // MARK: Versions

    /// A server of an earlier version cannot sign the account. Until the client knows its account,
    /// it also accepts a signature that does not cover the account.
    @Test func earlierServerIsTrustedUntilTheAccountIsKnown() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Self.script(nil)) { peer async throws in
            let client = peer.client(options: Self.options, store: store)
            #expect(try await client.sync().date == nil)
            let asked = try #require(peer.requests.last?.fields["accept-signature"])
            #expect(asked.contains(", sig0="))
            peer.play(Self.script(PeerAnswer.account))
            try await client.markRead(7)
            try await client.markRead(7)
            let known = try #require(peer.requests.last?.fields["accept-signature"])
            let nonce = try SignatureRequest(acceptSignature: [known]).nonce
            #expect(known == ResponseVerifier.acceptSignature(keyID: Self.key.id, coverage: .account, nonce: nonce))
            // Once the client knows its account, it accepts no signature that does not cover the
            // account.
            peer.play(Self.script(nil))
            let error = await #expect(throws: PushClientError.self) { try await client.markRead(7) }
            guard case .interference(let interference)? = error else { return }
            #expect(interference.kind == .insufficientCoverage)
        }
    }

    @Test func passwordWorksWithAnEarlierServer() async throws {
        let password = PushClient.Credentials.basic(username: "alice", password: "p")
        try await ProtocolPeer.run(Self.script(nil)) { peer async throws in
            let client = peer.client(password, options: Self.options)
            for _ in 0..<2 { #expect(try await client.sync().date == nil) }
            #expect(
                peer.requests.map(\.path) == [Paths.currentSession] + Array(repeating: Paths.notifications, count: 2)
            )
            peer.play(Self.script(nil, name: "mallory"))
            #expect(await Self.isRefused { _ = try await peer.client(password, options: Self.options).sync() })
        }
    }

    // MARK: Without signatures

    /// Without signatures, the account field reveals accidents, such as a cache that returns one
    /// user's answers to another.
    @Test func unsignedAccountFieldIsCheckedIfPresent() async throws {
        try await ProtocolPeer.run(Self.script(PeerAnswer.account)) { peer async throws in
            let client = peer.client()
            #expect(try await client.sync().date == nil)
            peer.play(Self.script(Self.other))
            #expect(await Self.isRefused { try await client.markRead(7) })
            peer.play(Self.script(nil))
            try await client.markRead(7)
        }
    }
}
