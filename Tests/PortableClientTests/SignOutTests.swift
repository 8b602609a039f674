import ClientPeers
import Foundation
import PushAPI
import Testing

@testable import PushClient

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Cryptography
#endif

/// A sign-out ends the session and deletes the stored data, whatever the network does and
/// whichever calls are writing.
@Suite(.timeLimit(.minutes(5))) struct SignOutTests {
    private static func script(_ server: ListServer) -> ProtocolPeer.Script {
        { request, _ in
            switch (request.method, request.path) {
            case ("POST", "/api/register"): .answer(PeerAnswer(to: request, body: #""id-1""#))
            case ("PUT", _), ("DELETE", _): .answer(PeerAnswer(to: request, status: 204))
            case ("GET", "/api/notifications"): .answer(server.answer(request))
            default: .answer(PeerAnswer(to: request, body: Samples.item(7)))
            }
        }
    }

    private static func server() -> ListServer {
        let server = ListServer()
        for id in 1...3 { server.put(Int64(id), Samples.item(Int64(id))) }
        return server
    }

    @Test func theServerEndsTheDeviceAndThenTheSession() async throws {
        let server = Self.server()
        try await ProtocolPeer.run(Self.script(server)) { peer in
            let client = peer.client(.token("t", account: "alice"))
            try await client.register(platform: "apns", handle: "a")
            _ = try await client.sync()
            let count = peer.requests.count
            #expect(try await client.signOut())
            #expect(
                peer.requests.dropFirst(count).map { "\($0.method) \($0.path)" }
                    == ["DELETE /api/register/id-1", "DELETE /api/sessions/current"]
            )
            #expect(peer.requests.suffix(2).allSatisfy { $0.fields["authorization"] == "Bearer t" })
            await #expect(throws: PushClientError.signedOut) { try await client.cachedInbox() }
            await #expect(throws: PushClientError.signedOut) { try await client.sync() }
            await #expect(throws: PushClientError.signedOut) { try await client.notification(7) }
            #expect(client.registrationID == nil)
            #expect(peer.requests.count == count + 2)
            #expect(try await !client.signOut(), "there is nothing to end")
            #expect(peer.requests.count == count + 2)
        }
    }

    @Test(arguments: [false, true]) func aSignOutWithoutNetworkIsDoneLater(isFolder: Bool) async throws {
        let folder = try ScratchFolder()
        let place = URL(fileURLWithPath: folder.path)
        let key = SymmetricKey(size: .bits256)
        let memory = PushClient.Store.memory
        let server = Self.server()
        try await ProtocolPeer.run(Self.script(server)) { peer in
            // Makes the store, as the app does at each start.
            func store() -> PushClient.Store { isFolder ? .folder(place, key: key) : memory }
            let client = peer.client(.token("t", account: "alice"), store: store())
            try await client.register(platform: "apns", handle: "a")
            _ = try await client.sync()
            peer.play { _, _ in .hangUp }
            #expect(try await !client.signOut())
            #expect(try await !PushClient.finishSignOuts(server: peer.url, options: peer.options(), store: store()))
            #expect(try folder.contents().range(of: Data("Bearer".utf8)) == nil)

            // The next session can begin immediately. It has no data of the earlier session, and
            // the waiting sign-out does not delete the new data.
            peer.play(Self.script(server))
            let next = peer.client(.token("u", account: "alice"), store: store())
            #expect(try await next.cachedInbox().notifications.isEmpty)
            #expect(next.registrationID == nil)
            let inbox = try await next.sync().value
            #expect(inbox.notifications.count == 3 && inbox.arrived.count == 3)
            await #expect(throws: PushClientError.signedOut) { try await client.cachedInbox() }

            let count = peer.requests.count
            #expect(try await PushClient.finishSignOuts(server: peer.url, options: peer.options(), store: store()))
            #expect(
                peer.requests.dropFirst(count).map { "\($0.method) \($0.path) \($0.fields["authorization"] ?? "")" }
                    == ["DELETE /api/register/id-1 Bearer t", "DELETE /api/sessions/current Bearer t"]
            )
            #expect(
                try await PushClient.finishSignOuts(server: peer.url, options: peer.options(), store: store()),
                "once"
            )
            #expect(peer.requests.count == count + 2)
            #expect(try await next.cachedInbox().notifications.count == 3)
        }
    }

    /// A waiting sign-out is sent only to the server at which the session began.
    @Test func signOutIsSentToItsOwnServerOnly() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run({ _, _ in .hangUp }) { peer async throws in
            let client = peer.client(.basic(username: "alice", password: "p"), store: store)
            #expect(try await client.signOut(), "a password alone ends nothing at the server")
        }
        try await ProtocolPeer.run({ _, _ in .hangUp }) { peer async throws in
            #expect(try await !peer.client(.token("t"), store: store).signOut())
        }
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, status: 204)) }) {
            peer async throws in
            #expect(try await PushClient.finishSignOuts(server: peer.url, options: peer.options(), store: store))
            #expect(peer.requests.isEmpty)
        }
    }

    /// Refreshes, fetches and registrations that are under way store nothing after the sign-out.
    @Test func aSignOutEndsAllWriters() async throws {
        let server = Self.server()
        server.change { $0.pageSize = 1 }
        for round in 0..<10 {
            let folder = try ScratchFolder()
            let store = PushClient.Store.folder(URL(fileURLWithPath: folder.path), key: SymmetricKey(size: .bits256))
            try await ProtocolPeer.run(Self.script(server)) { peer async throws in
                let credentials = PushClient.Credentials.token("t", account: "alice")
                let clients = (0..<3).map { _ in peer.client(credentials, store: store) }
                await withTaskGroup(of: Void.self) { group in
                    for client in clients {
                        // Whether these calls fail depends on how far they are when the sign-out
                        // comes.
                        group.addTask { _ = try? await client.sync() }
                        group.addTask { _ = try? await client.notification(7) }
                        group.addTask { _ = try? await client.register(platform: "apns", handle: "a") }
                    }
                    group.addTask {
                        for _ in 0..<round { await Task.yield() }
                        _ = try? await clients[0].signOut()
                    }
                }
                let next = peer.client(credentials, store: store)
                #expect(try await next.cachedInbox().notifications.isEmpty)
                #expect(next.registrationID == nil)
            }
        }
    }

    /// The second sign-out sends the first one again, until its answer arrives.
    @Test(arguments: [PushClient.Credentials.token("t"), .basic(username: "alice", password: "p")])
    func aSecondSignOutIsTrueOnlyIfTheFirstOneWaits(credentials: PushClient.Credentials) async throws {
        let script: ProtocolPeer.Script = { request, index in
            if request.method != "GET" { return Self.script(Self.server())(request, index) }
            let session = #"{"Name":"alice","Account":"\#(PeerAnswer.account)"}"#
            return .answer(PeerAnswer(to: request, body: session))
        }
        try await ProtocolPeer.run(script) { peer async throws in
            let client = peer.client(credentials)
            try await client.register(platform: "apns", handle: "a")
            peer.play { _, _ in .hangUp }
            for _ in 0..<2 { #expect(try await !client.signOut()) }
            peer.play(script)
            #expect(try await client.signOut())
            let count = peer.requests.count
            #expect(try await !client.signOut())
            #expect(peer.requests.count == count)
        }
    }

    /// The other client has a session of its own, which the sign-out of the first one leaves.
    @Test func aClientOfASignedOutAccountEndsItsOwnSession() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Self.script(Self.server())) { peer async throws in
            let (app, twin, other) = (
                peer.client(.token("t", account: "alice"), store: store),
                peer.client(.token("t", account: "alice"), store: store),
                peer.client(.token("u", account: "alice"), store: store)
            )
            _ = try await app.sync()
            peer.play { _, _ in .hangUp }
            #expect(try await !app.signOut())
            peer.play(Self.script(Self.server()))
            let count = peer.requests.count
            #expect(try await twin.signOut())
            #expect(try await other.signOut())
            #expect(
                Self.signOutRequests(peer, from: count)
                    == ["t", "u"].map { "DELETE /api/sessions/current Bearer \($0)" }
            )
        }
    }

    @Test func nobodyCannotSignOut() async throws {
        try await ProtocolPeer.run({ _, _ in .hangUp }) { peer async throws in
            #expect(try await !peer.client(.none(account: "alice")).signOut())
            #expect(peer.requests.isEmpty)
        }
    }

    /// `signOut()` returns `false`: the client cannot know whether the session has ended or a
    /// proxy has removed the token from the request.
    @Test func refusedTokenEndsAWaitingSignOut() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, .unauthorized)) }) {
            peer async throws in
            #expect(try await !peer.client(.token("t"), store: store).signOut())
            #expect(try await PushClient.finishSignOuts(server: peer.url, options: peer.options(), store: store))
            #expect(peer.requests.count == 1)
        }
    }

    // MARK: - Tokens that the app gives

    private static func signOutRequests(_ peer: ProtocolPeer, from count: Int) -> [String] {
        peer.requests.dropFirst(count).map { "\($0.method) \($0.path) \($0.fields["authorization"] ?? "")" }
    }

    /// The app has just started, so no call has asked the app's closure for a token yet.
    @Test func aSignOutBeforeTheFirstCallAsksForAToken() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Self.script(Self.server())) { peer async throws in
            func client() -> PushClient { peer.client(.tokens(account: "alice") { _ in "t" }, store: store) }
            try await client().register(platform: "apns", handle: "a")
            let count = peer.requests.count
            #expect(try await client().signOut())
            #expect(
                Self.signOutRequests(peer, from: count)
                    == ["DELETE /api/register/id-1 Bearer t", "DELETE /api/sessions/current Bearer t"]
            )
        }
    }

    @Test func aSignOutWithADeadTokenAsksForAnother() async throws {
        let server = Self.server()
        try await ProtocolPeer.run(Self.script(server)) { peer async throws in
            let client = peer.client(.tokens(account: "alice") { refused in refused == nil ? "t1" : "t2" })
            try await client.register(platform: "apns", handle: "a")
            peer.play { request, index in
                guard request.fields["authorization"] == "Bearer t2" else {
                    return .answer(PeerAnswer(to: request, .tokenExpired))
                }
                return Self.script(server)(request, index)
            }
            let count = peer.requests.count
            #expect(try await client.signOut())
            #expect(
                Self.signOutRequests(peer, from: count) == [
                    "DELETE /api/register/id-1 Bearer t1", "DELETE /api/register/id-1 Bearer t2",
                    "DELETE /api/sessions/current Bearer t2",
                ]
            )
        }
    }

    /// There is no valid token for the sign-out. The account's next session therefore unregisters
    /// the device of the earlier session.
    @Test(arguments: [false, true]) func signOutWithoutAValidTokenStaysIncomplete(isProvided: Bool) async throws {
        struct Offline: Error {}
        let store = PushClient.Store.memory
        let ids = Counter()
        let script: ProtocolPeer.Script = { request, _ in
            if request.fields["authorization"] == "Bearer dead" {
                return .answer(PeerAnswer(to: request, .tokenExpired))
            }
            if request.method == "POST" { return .answer(PeerAnswer(to: request, body: "\"id-\(ids.next())\"")) }
            return .answer(PeerAnswer(to: request, status: 204))
        }
        try await ProtocolPeer.run(script) { peer async throws in
            try await peer.client(.token("t", account: "alice"), store: store).register(platform: "apns", handle: "a")
            let id = PeerAnswer.account
            let provided = PushClient.Credentials.tokens(account: "alice", id: id) { _ in throw Offline() }
            let client = peer.client(isProvided ? provided : .token("dead", account: "alice", id: id), store: store)
            var count = peer.requests.count
            #expect(try await !client.signOut())
            #expect(
                Self.signOutRequests(peer, from: count) == (isProvided ? [] : ["DELETE /api/register/id-0 Bearer dead"])
            )
            count = peer.requests.count
            func finish() async throws -> Bool {
                try await PushClient.finishSignOuts(server: peer.url, options: peer.options(), store: store)
            }
            #expect(try await !finish())
            #expect(peer.requests.count == count, "nothing is sent without a token")

            let next = peer.client(.token("u", account: "alice"), store: store)
            try await next.register(platform: "apns", handle: "b")
            #expect(Self.signOutRequests(peer, from: count).last == "DELETE /api/register/id-0 Bearer u")
            #expect(next.registrationID == "id-1")
            count = peer.requests.count
            #expect(try await finish())
            #expect(peer.requests.count == count)
        }
    }

    /// In every session, the server may give the device the same registration id.
    @Test func anEarlierSignOutDoesNotEndTheDeviceOfTheNextSession() async throws {
        let (server, store) = (Self.server(), PushClient.Store.memory)
        try await ProtocolPeer.run(Self.script(server)) { peer async throws in
            let client = peer.client(.token("t", account: "alice"), store: store)
            try await client.register(platform: "apns", handle: "a")
            peer.play { _, _ in .hangUp }
            #expect(try await !client.signOut())
            peer.play(Self.script(server))
            let next = peer.client(.token("u", account: "alice"), store: store)
            #expect(try await next.register(platform: "apns", handle: "a") == "id-1")
            let count = peer.requests.count
            #expect(try await PushClient.finishSignOuts(server: peer.url, options: peer.options(), store: store))
            #expect(Self.signOutRequests(peer, from: count) == ["DELETE /api/sessions/current Bearer t"])
        }
    }

    /// The app's closure may discover that the user is signed out, and then call `signOut` itself.
    @Test func tokenProviderMaySignOut() async throws {
        let server = Self.server()
        let made = Locked<PushClient?>(nil)
        try await ProtocolPeer.run(Self.script(server)) { peer async throws in
            let client = peer.client(
                .tokens(account: "alice") { refused in
                    if refused == nil { return "t" }
                    _ = try await made.withLock { $0 }?.signOut()
                    throw PushClientError.signedOut
                }
            )
            made.withLock { $0 = client }
            try await client.register(platform: "apns", handle: "a")
            peer.play { request, _ in .answer(PeerAnswer(to: request, .tokenExpired)) }
            await #expect(throws: PushClientError.signedOut) { try await client.sync() }
            #expect(client.registrationID == nil)
        }
    }

    /// The account was signed out while the server accepted a registration. The sign-out order
    /// does not contain this registration, so the client must end it.
    @Test func aRegistrationThatASignOutOvertakesEnds() async throws {
        let script = Self.script(Self.server())
        try await ProtocolPeer.run(script) { peer async throws in
            let client = peer.client(.token("t", account: "alice"))
            let account = client.records.account
            peer.play { request, index in
                if request.method == "PUT" {
                    // Another process signs out.
                    _ = try? account.end { _ in
                        SignOutOrder(
                            server: "other",
                            authorization: "",
                            isWhenChallenged: false,
                            registration: nil,
                            account: nil
                        )
                    }
                }
                return script(request, index)
            }
            await #expect(throws: PushClientError.signedOut) {
                try await client.register(platform: "apns", handle: "a")
            }
            #expect(
                Self.signOutRequests(peer, from: 2)
                    == ["DELETE /api/register/id-1 Bearer t", "DELETE /api/sessions/current Bearer t"]
            )
            let count = peer.requests.count
            await #expect(throws: PushClientError.signedOut) {
                try await client.register(platform: "apns", handle: "a")
            }
            #expect(peer.requests.count == count, "nothing is sent any more")
        }
    }

    @Test func finishingSignOutsHasOneDeadline() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run({ _, _ in .hangUp }) { peer async throws in
            for account in ["alice", "bob"] {
                #expect(try await !peer.client(.token("t", account: account), store: store).signOut())
            }
            let count = peer.requests.count
            peer.play { _, _ in .silence }
            var options = peer.options()
            options.deadline = .milliseconds(200)
            #expect(try await !PushClient.finishSignOuts(server: peer.url, options: options, store: store))
            #expect(peer.requests.count == count + 1)
        }
    }
}
