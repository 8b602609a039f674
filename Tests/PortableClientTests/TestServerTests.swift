import ClientPeers
import Foundation
import PushAPI
import PushClient
import PushClientTesting
import Testing

/// Tests `TestServer`, the server in memory for tests of apps. It answers through `URLProtocol`,
/// on Apple's platforms and on Linux.
@Suite(.timeLimit(.minutes(5))) struct TestServerTests {
    private let server = TestServer()

    private struct Result: Codable, Equatable {
        let kind: String
        let value: Int
    }

    private func failure(_ call: () async throws -> some Any) async -> (any Error)? {
        do {
            _ = try await call()
            return nil
        } catch {
            return error
        }
    }

    private func kind(_ call: () async throws -> some Any) async -> Interference.Kind? {
        guard case .interference(let found)? = await self.failure(call) as? PushClientError else { return nil }
        return found.kind
    }

    @Test func aClientCollectsMarksAndDismisses() async throws {
        let client = self.server.client()
        let ids = (0..<3).map { self.server.add("payload \($0)") }
        let inbox = try await client.sync().value
        #expect(inbox.notifications.map(\.id) == ids)
        #expect(inbox.arrived == ids)
        #expect(try await client.markRead(ids[0]).isRead)
        #expect(try await client.markRead([ids[1], 99]) == [ids[1]])
        try await client.dismiss(ids[2])
        self.server.add("later")
        let next = try await client.sync()
        #expect(next.value.notifications.map(\.isRead) == [true, true, false])
        #expect(next.map(\.deleted).value.contains(ids[2]) || next.value.notifications.count == 3)
        #expect(next.date == nil)
        #expect(try await client.sync().value.arrived.isEmpty)
        #expect(self.server.requests.last == "GET /api/notifications")
        #expect(self.server.notifications.map(\.isRead) == [true, true, false])
    }

    @Test func queuedTaskIsSentOnce() async throws {
        let client = self.server.client()
        self.server.network = .cut
        try await client.outbox.send("once")
        // The server has carried out the request, but the network has lost the answer.
        _ = await self.failure { try await client.outbox.flush() }
        self.server.network = .fine
        #expect(try await client.outbox.count == 1)
        #expect(try await client.sync().value.notifications.map(\.payload?.text) == ["once"])
        #expect(try await client.outbox.count == 0)
        #expect(self.server.notifications.count == 1)
    }

    @Test func manyNotificationsComeInPages() async throws {
        for number in 0..<1203 { self.server.add("payload \(number)") }
        #expect(try await self.server.client().sync(limit: .max).value.notifications.count == 1203)
        #expect(self.server.requests.count == 3)
    }

    @Test func payloadsAreTypesOfTheApp() async throws {
        let client = self.server.client()
        let sent = try await client.send(.object([.init("kind", .string("blood")), .init("value", .number(7))]))
        #expect(try await client.notification(sent.id).value.decode(Result.self) == Result(kind: "blood", value: 7))
        #expect(self.server.notifications.map(\.id) == [sent.id])
        let text = try await client.send("a text")
        #expect(try await client.notification(text.id).value.decode(String.self) == "a text")
        let item = try await client.notification(text.id).value
        #expect(throws: DecodingError.self) { try item.decode(Result.self) }
        let empty = NotificationItem(id: 1, payload: nil, isRead: false, createdAt: .now, expiresAt: .distantFuture)
        #expect(throws: DecodingError.self) { try empty.decode(String.self) }
    }

    @Test(arguments: [
        (TestServer.Network.captivePortal, Interference.Kind.missingEcho), (.changed, .signature),
        (.cached, .wrongEcho),
        (.cut, .truncated),
    ])
    func eachInterferenceIsFound(network: TestServer.Network, kind: Interference.Kind) async throws {
        let id = self.server.add("secret")
        self.server.network = network
        #expect(await self.kind { try await self.server.client().notification(id) } == kind)
    }

    @Test func aWrongClockIsFound() async throws {
        self.server.clockOffset = .seconds(3600)
        let found = await self.kind { try await self.server.client().sync() }
        #expect(found == .wrongClock)
    }

    @Test func cachedInboxIsDatedWithoutANetwork() async throws {
        let store = PushClient.Store.memory
        let client = self.server.client(store: store)
        self.server.add("secret")
        _ = try await client.sync()
        for network in [TestServer.Network.offline, .captivePortal, .changed] {
            self.server.network = network
            let cached = try await self.server.client(store: store).sync()
            #expect(cached.date != nil)
            #expect(cached.value.notifications.count == 1)
        }
    }

    @Test func silentServerCountsAsOfflineAtTheDeadline() async throws {
        self.server.network = .silent
        var options = self.server.options
        options.deadline = .milliseconds(100)
        let error = try #require(await self.failure { try await self.server.client(options: options).sync() })
        #expect(PushClient.Advice(for: error) == .offline)
    }

    @Test func refusalsAreLikeTheRealServers() async throws {
        let client = self.server.client()
        self.server.takesCredentials = false
        let refused = try #require(await self.failure { try await client.notification(1) })
        #expect(PushClient.Advice(for: refused) == .signIn)
        self.server.takesCredentials = true
        self.server.isBusy = true
        let busy = try #require(await self.failure { try await client.notification(1) } as? PushClientError)
        #expect(busy == .busy(Problem(.busy), retryAfter: .seconds(5)))
        self.server.isBusy = false
        let missing = try #require(await self.failure { try await client.notification(1) } as? PushClientError)
        #expect(missing == .problem(Problem(.notFound)))
    }

    // MARK: - Streams

    private var streaming: PushClient {
        var options = self.server.options
        options.streamRetry = .milliseconds(1)
        return self.server.client(options: options)
    }

    /// Returns the next push, and adds to `trouble` the advice for each disconnection before that
    /// push.
    private func push(
        _ events: inout PushEvents.Iterator,
        _ trouble: inout [PushClient.Advice]
    ) async throws -> (id: Int64, text: String?)? {
        while let event = try await events.next() {
            switch event {
            case .connected: continue
            case .pushed(let id, let fetched): return (id, fetched?.value.payload?.text)
            case .disconnected(let error, _):
                if let error { trouble += [PushClient.Advice(for: error)].compactMap { $0 } }
            }
        }
        return nil
    }

    @Test func addedNotificationsComeOverTheStream() async throws {
        self.server.add("before the device")
        let client = self.streaming
        var (events, trouble) = (client.events().makeAsyncIterator(), [PushClient.Advice]())
        guard case .connected? = try await events.next() else {
            Issue.record("it has not connected")
            return
        }
        #expect(self.server.openStreams == 1)
        for text in ["one", "two"] {
            let id = self.server.add(text)
            let push = try await self.push(&events, &trouble)
            #expect(push?.id == id)
            #expect(push?.text == text)
            #expect(try await client.cachedNotification(id)?.payload?.text == text)
        }
        #expect(trouble.isEmpty)
        try await client.signOut()
        await #expect(throws: PushClientError.signedOut) { try await events.next() }
    }

    /// If one of the sequences waited for its interval, the test would exceed its time limit.
    @Test func aSignOutEndsWaitingSequences() async throws {
        let client = self.streaming
        let (events, bell) = AsyncStream.makeStream(of: PushEvent.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for try await event in client.events(silence: .seconds(3600)) { bell.yield(event) } }
            group.addTask { for try await _ in client.updates(every: .seconds(3600)) {} }
            for await _ in events { break }
            try await client.signOut()
            for _ in 0..<2 {
                let result = await group.nextResult()
                #expect(throws: PushClientError.signedOut) { try result?.get() }
            }
        }
    }

    @Test(arguments: [false, true]) func sequencesNeedAnAccount(isAfterSignOut: Bool) async throws {
        let options = self.server.options
        let nobody = PushClient(server: self.server.url, credentials: .none(account: "alice"), options: options)
        let client = isAfterSignOut ? self.server.client() : nobody
        if isAfterSignOut { try await client.signOut() }
        let count = self.server.requests.count
        await #expect(throws: PushClientError.signedOut) { for try await _ in client.events() {} }
        await #expect(throws: PushClientError.signedOut) { for try await _ in client.updates() {} }
        #expect(self.server.requests.count == count)
    }

    @Test(arguments: [
        (TestServer.Network.offline, PushClient.Advice.offline), (.captivePortal, .captivePortal),
        (.cached, .interference),
    ])
    func streamReconnectsAfterANetworkFailure(network: TestServer.Network, advice: PushClient.Advice) async throws {
        var (events, trouble) = (self.streaming.events().makeAsyncIterator(), [PushClient.Advice]())
        // The device gets pushes only for notifications that are added after it has connected.
        _ = try await events.next()
        self.server.network = network
        let missed = self.server.add("missed")
        while !trouble.contains(advice) {
            if case .disconnected(let error?, _)? = try await events.next() {
                trouble += [PushClient.Advice(for: error)].compactMap { $0 }
            }
        }
        #expect(self.server.openStreams == 0)
        self.server.network = .fine
        let push = try await self.push(&events, &trouble)
        #expect(push?.id == missed)
        #expect(push?.text == "missed")
    }

    @Test func aDeviceOfAProviderHasNoStream() async throws {
        let client = self.streaming
        try await client.register(platform: "apns", handle: "a")
        var events = client.events().makeAsyncIterator()
        await #expect(throws: PushClientError.problem(Problem(.notFound))) { try await events.next() }
        #expect(self.server.openStreams == 0)
    }

    @Test func endOfCredentialsEndsTheStream() async throws {
        var events = self.streaming.events().makeAsyncIterator()
        _ = try await events.next()
        self.server.takesCredentials = false
        guard case .disconnected(nil, _)? = try await events.next() else {
            Issue.record("it has not ended")
            return
        }
        await #expect(throws: PushClientError.unauthorized(Problem(.unauthorized))) { try await events.next() }
    }

    @Test func serversInOneProcessAreIndependent() async throws {
        let other = TestServer()
        other.add("other")
        self.server.add("own")
        self.server.add("own")
        #expect(try await other.client().sync().value.notifications.count == 1)
        #expect(try await self.server.client().sync().value.notifications.count == 2)
        // Each test server has its own key, and answers only the sessions of its own options.
        let stranger = PushClient(server: self.server.url, credentials: .token("t"), options: other.options)
        let found = await self.kind { try await stranger.sync() }
        #expect(found == .signature)
    }
}
