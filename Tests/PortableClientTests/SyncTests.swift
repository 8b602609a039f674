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

/// A sync fetches in one round trip everything that the device has missed, and loses nothing.
@Suite(.timeLimit(.minutes(15))) struct SyncTests {
    private static func server(_ count: Int64) -> ListServer {
        let server = ListServer()
        for id in 1...max(1, count) where id <= count { server.put(id, Samples.item(id, "payload \(id)")) }
        return server
    }

    @Test func coldStartIsOneRequestAndItsRepetitionOne304() async throws {
        try await ProtocolPeer.run(Self.server(200).script) { peer, client in
            let inbox = try await client.sync().value
            #expect(inbox.notifications.count == 200)
            #expect(inbox.arrived == Array(1...200))
            #expect(inbox.deleted.isEmpty)
            #expect(inbox.unreadCount == 200)
            #expect(peer.requests.map(\.target) == ["/api/notifications?limit=500"])
            #expect(peer.requests[0].fields["if-none-match"] == nil)

            let again = try await client.sync()
            #expect(again.date == nil)
            #expect(again.value.notifications == inbox.notifications)
            #expect(again.value.arrived.isEmpty)
            #expect(peer.requests.map(\.target).dropFirst() == ["/api/notifications?limit=500&since=c200"])
            #expect(peer.requests[1].fields["if-none-match"] == "\"c200\"")
        }
    }

    /// End-to-end payloads are bound to their app, so the client must name the app and not let the
    /// server choose one.
    @Test func aClientWithADeviceKeyNamesItAndItsApp() async throws {
        for app in [nil, "clinic"] {
            var options = PushClient.Options(testing: [], app: app)
            let key = try DeviceKeys(account: String(repeating: "A", count: 22)).key
            options.deviceKey = key
            try await ProtocolPeer.run(Self.server(1).script, options: options) { peer, client in
                _ = try await client.sync()
                #expect(
                    peer.requests.map(\.target) == [
                        "/api/notifications?limit=500&key=\(key.id)&app=\(app ?? "default")"
                    ]
                )
            }
        }
    }

    @Test func changesAreMerged() async throws {
        let server = Self.server(5)
        try await ProtocolPeer.run(server.script) { _, client in
            _ = try await client.sync()
            server.put(2, Samples.item(2, "payload 2", isRead: true))
            server.put(3, nil)
            server.put(6, Samples.item(6))
            server.put(77, nil)
            let inbox = try await client.sync().value
            #expect(inbox.notifications.map(\.id) == [1, 2, 4, 5, 6])
            #expect(inbox.notifications.filter(\.isRead).map(\.id) == [2])
            #expect(inbox.arrived == [2, 6])
            // The app may have shown a push for the id 77, which the client does not know. The
            // client therefore reports this deletion, too.
            #expect(inbox.deleted == [3, 77])
            #expect(inbox.unreadCount == 4)
        }
    }

    /// The server's times have only whole seconds, and ids are random. Neither of them therefore
    /// gives the order.
    @Test func notificationsOfOneSecondKeepTheServersOrder() async throws {
        let server = ListServer()
        for id in [30, 10, 40, 20] as [Int64] { server.put(id, Samples.item(id)) }
        try await ProtocolPeer.run(server.script) { peer, client in
            #expect(try await client.sync().value.notifications.map(\.id) == [30, 10, 40, 20])
            // A changed notification keeps its place. A later notification comes last, even if its
            // push arrived first.
            peer.play { request, _ in .answer(PeerAnswer(to: request, body: Samples.item(50))) }
            _ = try await client.notification(50)
            server.put(10, Samples.item(10, isRead: true))
            server.put(60, Samples.item(60))
            peer.play(server.script)
            server.put(50, Samples.item(50))
            #expect(try await client.sync().value.notifications.map(\.id) == [30, 10, 40, 20, 60, 50])
            #expect(try await client.cachedInbox().notifications.map(\.id) == [30, 10, 40, 20, 60, 50])
        }
    }

    @Test(arguments: [1, 2, 7, 100])
    func furtherPagesAreFetchedOnlyWhileThereAreMore(pageSize: Int) async throws {
        let server = Self.server(20)
        server.change { $0.pageSize = pageSize }
        try await ProtocolPeer.run(server.script) { peer, client in
            let inbox = try await client.sync().value
            #expect(inbox.notifications.map(\.id).sorted() == Array(1...20))
            #expect(inbox.arrived == Array(1...20))
            #expect(peer.requests.count == (20 + pageSize - 1) / pageSize)
        }
    }

    @Test func expiryByTheServersTimeDeletesANotification() async throws {
        let time = ManualTime(try #require(Date(rfc3339: "2027-01-01T00:00:00Z")))
        let server = ListServer()
        server.put(1, Samples.item(1, expires: "2027-01-01T00:10:00Z"))
        server.put(2, Samples.item(2))
        server.change { $0.date = "Fri, 01 Jan 2027 00:00:00 GMT" }
        try await ProtocolPeer.run(server.script, options: time.options) { peer, client in
            #expect(try await client.sync().value.notifications.map(\.id) == [1, 2])
            time.pass(600)
            server.change { $0.date = "Fri, 01 Jan 2027 00:10:00 GMT" }
            let inbox = try await client.sync().value
            #expect(inbox.notifications.map(\.id) == [2])
            #expect(inbox.deleted == [1])
            #expect(try await client.sync().value.deleted.isEmpty)
            peer.play { _, _ in .hangUp }
            #expect(try await client.sync().value.notifications.map(\.id) == [2])
        }
    }

    /// A wrong device clock hides notifications for a while, but deletes none.
    @Test func aClockSetAheadDeletesNothing() async throws {
        let time = ManualTime(try #require(Date(rfc3339: "2027-01-01T00:00:00Z")))
        let server = ListServer()
        server.put(1, Samples.item(1, expires: "2027-01-02T00:00:00Z"))
        server.change { $0.date = "Fri, 01 Jan 2027 00:00:00 GMT" }
        try await ProtocolPeer.run(server.script, options: time.options) { _, client in
            _ = try await client.sync()
            time.pass(3 * 86400)
            let ahead = try await client.sync().value
            #expect(ahead.notifications.isEmpty && ahead.deleted.isEmpty)
            time.pass(-3 * 86400)
            #expect(try await client.sync().value.notifications.map(\.id) == [1])
        }
    }

    @Test func unknownCursorRestartsTheSync() async throws {
        let server = Self.server(5)
        server.change { $0.pageSize = 2 }
        try await ProtocolPeer.run(server.script) { peer, client in
            _ = try await client.sync()
            // The server's database was created again: it has other cursors, and one notification
            // fewer.
            server.change { state in
                state.generation = "d"
                state.items[4] = nil
            }
            let count = peer.requests.count
            let inbox = try await client.sync().value
            #expect(inbox.notifications.map(\.id) == [1, 2, 3, 5])
            #expect(inbox.deleted == [4])
            #expect(
                peer.requests[count...].map(\.target)
                    == [
                        "/api/notifications?limit=500&since=c5", "/api/notifications?limit=500",
                        "/api/notifications?limit=500&since=d2", "/api/notifications?limit=500&since=d5",
                    ].prefix(peer.requests.count - count).map { $0 }
            )
        }
    }

    @Test func syncEndsIfTheServerKnowsNoCursor() async throws {
        try await ProtocolPeer.run(Self.server(1).script) { peer, client in
            _ = try await client.sync()
            peer.play { request, _ in .answer(PeerAnswer(to: request, .invalidCursor)) }
            await #expect(throws: PushClientError.problem(Problem(.invalidCursor))) { try await client.sync() }
            #expect(peer.requests.count == 3)
        }
    }

    /// The server refuses each cursor that it has returned.
    @Test func syncEndsIfTheServerRejectsItsOwnCursors() async throws {
        let page = Samples.list([Samples.item(1)], cursor: "c", more: true)
        try await ProtocolPeer.run(
            { request, _ in
                request.query.contains("since=")
                    ? .answer(PeerAnswer(to: request, .invalidCursor)) : .answer(PeerAnswer(to: request, body: page))
            }
        ) { peer, client in
            await #expect(throws: PushClientError.problem(Problem(.invalidCursor))) { try await client.sync() }
            #expect(peer.requests.count == 2)
        }
    }

    @Test func cachedInboxIsShownWhenTheServerIsUnreachable() async throws {
        let time = ManualTime()
        let folder = try ScratchFolder()
        let store = PushClient.Store.folder(URL(fileURLWithPath: folder.path), key: SymmetricKey(size: .bits256))
        let server = Self.server(3)
        try await ProtocolPeer.run(server.script, options: time.options, store: store) { peer, client in
            peer.play { _, _ in .hangUp }
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await client.sync() }
            peer.play(server.script)
            let inbox = try await client.sync().value
            time.pass(60)
            _ = try await client.sync()
            let confirmed = time.now
            time.pass(60)
            for trouble: ProtocolPeer.Script in [
                { _, _ in .hangUp }, { _, _ in .answer(PeerAnswer(body: "<html>")) },
                { request, _ in .answer(PeerAnswer(to: request, status: 304, fields: [("ETag", "\"c1\"")])) },
                { request, _ in .answer(PeerAnswer(to: request, body: Samples.item(1))) },
                { request, _ in .answer(PeerAnswer(to: request, .busy)) },
            ] {
                peer.play(trouble)
                // The app starts again, with a new client.
                let cached = try await peer.client(options: time.options, store: store).sync()
                #expect(cached.date == confirmed)
                #expect(cached.value.notifications == inbox.notifications)
                #expect(cached.value.arrived.isEmpty)
            }
            // A payload that the client got in a list is also cached for the call that fetches a
            // single notification.
            let item = try await client.notification(2)
            #expect(item.value == inbox.notifications[1])
            #expect(item.date == confirmed)
            #expect(item.failure?.advice == .wait)
        }
    }

    @Test func storedPageIsNotFetchedAgain() async throws {
        let server = Self.server(6)
        server.change { $0.pageSize = 2 }
        try await ProtocolPeer.run(server.script) { peer, client in
            peer.play { request, index in index < 2 ? .answer(server.answer(request)) : .hangUp }
            // The inbox was never complete, so the cached part of it has no date.
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await client.sync() }
            let part = try await client.cachedInbox()
            #expect(part.notifications.count == 4)
            #expect(part.syncedAt == nil)
            let count = peer.requests.count
            peer.play(server.script)
            let inbox = try await client.sync().value
            #expect(inbox.notifications.count == 6)
            #expect(inbox.arrived == Array(1...6), "the changes that the failed call has not reported")
            #expect(inbox.syncedAt != nil)
            #expect(peer.requests[count...].map(\.target) == ["/api/notifications?limit=500&since=c4"])
        }
    }

    /// Between changes at the server, three syncs run at the same time. The client's copy must
    /// always match a state of the server.
    @Test func concurrentSyncsKeepTheInboxConsistent() async throws {
        let server = Self.server(40)
        server.change { $0.pageSize = 3 }
        try await ProtocolPeer.run(server.script) { _, client in
            for round in 0..<5 {
                server.put(Int64(round), nil)
                server.put(Int64(100 + round), Samples.item(Int64(100 + round)))
                try await withThrowingTaskGroup(of: Inbox.self) { group in
                    for _ in 0..<3 { group.addTask { try await client.sync().value } }
                    group.addTask {
                        server.put(Int64(200 + round), Samples.item(Int64(200 + round)))
                        return try await client.sync().value
                    }
                    while try await group.next() != nil {}
                }
                var expected: [Int64] = []
                server.change { expected = $0.items.filter { $0.value.json != nil }.keys.sorted() }
                #expect(try await client.sync().value.notifications.map(\.id).sorted() == expected)
            }
        }
    }

    @Test func uncacheablePayloadIsShownOnce() async throws {
        let server = ListServer()
        server.put(1, String(Samples.item(1).dropLast()) + #","Store":"never"}"#)
        server.put(2, Samples.item(2))
        server.put(3, #"{"Id":3,"Read":false,"ReadOnce":true}"#)
        server.change { $0.directive = "no-store" }
        try await ProtocolPeer.run(server.script) { peer, client in
            let first = try await client.sync().value.notifications
            #expect(first.map(\.id).sorted() == [1, 2, 3])
            #expect(Set(first.filter { $0.payload != nil }.map(\.id)) == [1, 2])
            let second = try await client.sync().value.notifications
            #expect(second.map(\.id).sorted() == [1, 2, 3])
            #expect(second.filter { $0.payload != nil }.map(\.id) == [2])
            #expect(second.filter(\.isReadOnce).map(\.id) == [3])
            peer.play { request, _ in .answer(PeerAnswer(to: request, status: 204)) }
            try await client.confirmTaken(3)
            peer.play { _, _ in .hangUp }
            #expect(try await client.sync().value.notifications.map(\.id).sorted() == [1, 2])
        }
        // If a `no-store` list does not say which items must not be stored, no payload is cached.
        let silent = ListServer()
        for id in 1...2 { silent.put(Int64(id), Samples.item(Int64(id))) }
        silent.change { $0.directive = "no-store" }
        try await ProtocolPeer.run(silent.script) { _, client async throws in
            #expect(try await client.sync().value.notifications.count { $0.payload != nil } == 2)
            #expect(try await client.sync().value.notifications.count { $0.payload != nil } == 0)
        }
    }

    @Test func markingAndDismissingChangeTheInbox() async throws {
        let server = Self.server(3)
        try await ProtocolPeer.run(server.script) { peer, client in
            _ = try await client.sync()
            peer.play { request, _ in
                switch request.method {
                case "POST": .answer(PeerAnswer(to: request, body: #"{"Read":[1,2]}"#))
                case "DELETE": .answer(PeerAnswer(to: request, status: 204))
                default: .hangUp
                }
            }
            try await client.markRead([1, 2])
            try await client.dismiss(3)
            let inbox = try await client.sync()
            #expect(inbox.date != nil)
            #expect(inbox.value.notifications.map(\.isRead) == [true, true])
        }
    }

    /// If a file was lost, the refresh makes a second pass. Both passes have the same deadline.
    @Test func aRefreshHasOneDeadline() async throws {
        let server = Self.server(3)
        let ends = Locked<[ContinuousClock.Instant?]>([])
        let taken = Locked<Set<String>>([])
        let names = Counter()
        // Each token is valid for only one request, so each request needs a new token.
        let script: ProtocolPeer.Script = { request, index in
            let token = request.fields["authorization"] ?? ""
            guard taken.withLock({ $0.insert(token).inserted }) else {
                return .answer(PeerAnswer(to: request, .tokenExpired))
            }
            return server.script(request, index)
        }
        try await ProtocolPeer.run(script) { peer async throws in
            let credentials = PushClient.Credentials.tokens(account: "alice") { _ in
                ends.withLock { $0.append(CallDeadline.current) }
                return "t\(names.next())"
            }
            let client = peer.client(credentials)
            _ = try await client.sync()
            let account = client.records.account
            let name = try #require(try account.read().index.names.first)
            account.files.removeEntry(name, in: account.folder)
            ends.withLock { $0 = [] }
            #expect(try await client.sync().value.notifications.count == 3)
            let seen = ends.withLock { $0 }
            #expect(seen.count == 2 && Set(seen).count == 1 && seen.first != .some(nil))
        }
    }

    /// The index has a maximum size, so a longer cursor would leave less space for notifications.
    @Test(arguments: [1024, 1025, 100_000]) func aCursorIsBounded(_ length: Int) async throws {
        let cursor = String(repeating: "c", count: length)
        try await ProtocolPeer.run({ request, _ in
            .answer(PeerAnswer(to: request, body: Samples.list([Samples.item(1)], cursor: cursor)))
        }) { _, client async throws in
            if length <= 1024 {
                #expect(try await client.sync().value.notifications.count == 1)
            } else {
                let found = await interference { try await client.sync() }
                #expect(found?.kind == .unexpectedBody)
                #expect(found?.expected == "a cursor of at most 1024 bytes")
            }
        }
    }

    /// An impostor always claims that the list has more pages, or returns the same cursor each
    /// time.
    @Test func endlessListIsDetected() async throws {
        var options = PushClient.Options(testing: [])
        // On a busy machine, the thousand requests of this test take long.
        options.deadline = .seconds(3600)
        let script: ProtocolPeer.Script = { request, _ in
            .answer(PeerAnswer(to: request, body: Samples.list([], cursor: "c", more: true)))
        }
        try await ProtocolPeer.run(script, options: options) { peer, client in
            let found = await interference { try await client.sync() }
            #expect(found?.kind == .unexpectedBody)
            #expect(peer.requests.count < 1100)
        }
    }
}
