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

/// Tests the cached inbox that an app can show immediately, and the changes that it gets
/// afterwards.
@Suite(.timeLimit(.minutes(5))) struct UpdatesTests {
    private static func server(_ count: Int64) -> ListServer {
        let server = ListServer()
        for id in 1...count { server.put(id, Samples.item(id, "payload \(id)")) }
        return server
    }

    @Test func cachedInboxIsReadWithoutANetwork() async throws {
        let store = PushClient.Store.memory
        let time = ManualTime()
        let server = Self.server(3)
        try await ProtocolPeer.run(server.script, options: time.options, store: store) { peer, client in
            let nothing = try await client.cachedInbox()
            #expect(nothing.notifications.isEmpty && nothing.syncedAt == nil)
            let fresh = try await client.sync().value
            #expect(fresh.syncedAt == time.now)
            let count = peer.requests.count
            let cached = try await peer.client(options: time.options, store: store).cachedInbox()
            #expect(cached.notifications == fresh.notifications)
            #expect(cached.syncedAt == time.now)
            #expect(cached.arrived.isEmpty, "the sync has reported it")
            #expect(try await client.cachedNotification(2)?.payload == .string("payload 2"))
            #expect(try await client.cachedNotification(4) == nil)
            #expect(peer.requests.count == count)
        }
    }

    /// The app shows and reports notifications that an extension has fetched.
    @Test func inboxIncludesFetchesOfAnotherProcess() async throws {
        let folder = try ScratchFolder()
        let (place, key) = (URL(fileURLWithPath: folder.path), SymmetricKey(size: .bits256))
        let server = Self.server(2)
        try await ProtocolPeer.run(server.script, store: .folder(place, key: key)) { peer, app in
            _ = try await app.sync()
            peer.play { request, _ in .answer(PeerAnswer(to: request, body: Samples.item(9))) }
            let fetched = try await peer.client(store: .folder(place, key: key)).notification(9)
            #expect(fetched.date == nil)
            let cached = try await app.cachedInbox()
            #expect(cached.notifications.map(\.id) == [1, 2, 9])
            #expect(cached.arrived == [9])
            peer.play { _, _ in .hangUp }
            let synced = try await app.sync()
            #expect(synced.date != nil && synced.value.arrived == [9])
            #expect(try await app.cachedInbox().arrived.isEmpty)
        }
    }

    @Test func eachConsumerHasAMarkOfItsOwn() async throws {
        let server = Self.server(3)
        try await ProtocolPeer.run(server.script) { peer, client in
            _ = try await client.sync()
            let first = try await client.changes(for: "search")
            #expect(first.arrived == [1, 2, 3] && first.deleted.isEmpty && !first.isEverything)
            #expect(try await client.changes(for: "search") == first, "until it is confirmed")
            try await client.confirm(first)
            #expect(try await client.changes(for: "search").isEmpty)
            server.put(2, nil)
            server.put(4, Samples.item(4))
            _ = try await client.sync()
            let second = try await client.changes(for: "search")
            #expect(second.arrived == [4] && second.deleted == [2])
            #expect(try await client.changes(for: "badge").arrived == [1, 3, 4])
            // A late confirmation of older changes has no effect.
            try await client.confirm(second)
            try await client.confirm(first)
            #expect(try await client.changes(for: "search").isEmpty)
        }
    }

    /// More notifications were deleted than the store records. The consumer must therefore read
    /// the whole inbox.
    @Test func outdatedMarkReceivesEverything() async throws {
        let account = Account(MemoryStore(), name: "a", proof: .echoed)
        let keeper = InboxKeeper(account)
        try await keeper.take(keeper.changes(since: nil, consumer: "old"))
        let cached = CachedItem(try Self.item(1), date: .now)
        try account.change { $0.put(cached) }
        try await keeper.take(keeper.changes(since: nil, consumer: "old"))
        for id in 2...700 { try account.change { $0.remove(Int64(id)) } }
        let changes = try await keeper.changes(since: nil, consumer: "old")
        #expect(changes.isEverything && changes.arrived == [1])
    }

    @Test func changesOfAnotherClientAreReported() async throws {
        let folder = try ScratchFolder()
        let (place, key) = (URL(fileURLWithPath: folder.path), SymmetricKey(size: .bits256))
        let server = Self.server(2)
        try await ProtocolPeer.run(server.script, store: .folder(place, key: key)) { peer, app in
            var updates = app.updates(every: .milliseconds(10)).makeAsyncIterator()
            _ = try await app.sync()
            #expect(try await updates.next()?.arrived == [1, 2])
            let other = peer.client(store: .folder(place, key: key))
            peer.play { request, _ in .answer(PeerAnswer(to: request, body: Samples.item(9))) }
            // The change arrives while the iterator waits.
            let waiting = updates
            async let next = Self.next(of: waiting)
            _ = try await other.notification(9)
            #expect(try await next?.arrived == [9])
            peer.play { request, _ in .answer(PeerAnswer(to: request, status: 204)) }
            updates = app.updates(every: .milliseconds(10)).makeAsyncIterator()
            try await other.dismiss(1)
            #expect(try await updates.next()?.deleted == [1])
            try await other.signOut()
            await #expect(throws: PushClientError.signedOut) { try await updates.next() }
        }
    }

    /// The commit numbers of a new store begin below the number that the app has seen, so the app
    /// must read the whole inbox.
    @Test func recreatedStoreReportsEverything() async throws {
        let folder = try ScratchFolder()
        let (place, key) = (URL(fileURLWithPath: folder.file("store")), SymmetricKey(size: .bits256))
        let server = try #require(URL(string: "https://push.example"))
        func client() -> PushClient {
            PushClient(
                server: server,
                credentials: .token("t"),
                options: .init(testing: []),
                store: .folder(place, key: key)
            )
        }
        let app = client()
        for id in 1...9 {
            let cached = CachedItem(try Self.item(Int64(id)), date: .now)
            try app.records.account.change { $0.put(cached) }
        }
        var updates = app.updates(every: .milliseconds(10)).makeAsyncIterator()
        try FileManager.default.removeItem(at: place)
        let cached = CachedItem(try Self.item(11), date: .now)
        try client().records.account.change { $0.put(cached) }
        let changes = try #require(try await updates.next())
        #expect(changes.isEverything && changes.arrived == [11])
        // Afterwards, the app gets later changes one by one again.
        let next = CachedItem(try Self.item(12), date: .now)
        try client().records.account.change { $0.put(next) }
        let others = try #require(try await updates.next())
        #expect(!others.isEverything && others.arrived == [12])
    }

    @Test(.timeLimit(.minutes(5))) func waitingIteratorIsCancelled() async throws {
        let client = PushClient(
            server: try #require(URL(string: "http://push.example")),
            credentials: .token("t"),
            options: .init(testing: [])
        )
        await withThrowingTaskGroup(of: InboxChanges?.self) { group in
            group.addTask {
                var updates = client.updates(every: .seconds(3600)).makeAsyncIterator()
                return try await updates.next()
            }
            group.cancelAll()
            let result = await group.nextResult()
            #expect(throws: CancellationError.self) { try result?.get() }
        }
    }

    private static func next(of updates: InboxUpdates.Iterator) async throws -> InboxChanges? {
        var updates = updates
        return try await updates.next()
    }

    private static func item(_ id: Int64) throws -> NotificationItem {
        try #require(NotificationItem(JSONValue(reading: Samples.item(id).utf8)))
    }
}
