import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Reactor
import Synchronization
import Testing

@testable import PushPostgreSQL

/// Messages by which servers of one database tell each other about rows that they have stored.
@Suite(.timeLimit(.minutes(5))) struct AnnouncementTests {
    @Test(
        arguments: [
            ("7", 7, false, []), ("7 ends", 7, true, []),
            ("-7 work=stream work=app.stream ends", -7, true, ["app.stream", "stream"]),
            ("7 work=* later=1 works", 7, false, ["*"]), ("7 work= work", 7, false, []), ("", nil, false, []),
            ("ends 7", nil, false, []),
            ("99999999999999999999 ends", nil, false, []), ("  7  ends", 7, true, []),
        ] as [(String, Int64?, Bool, Set<String>)]
    )
    func aMessageIsRead(text: String, sender: Int64?, hasEnds: Bool, lanes: Set<String>) {
        let message = ServerMessage(text)
        #expect(message?.sender == sender)
        #expect(message?.news.contains(.ends) ?? false == hasEnds)
        #expect(message?.lanes ?? [] == lanes)
    }

    @Test func aMessageIsWrittenAsItIsRead() {
        let message = ServerMessage(sender: 7, [.freed, .events, .ends], workIn: ["b", "a"])
        #expect(message.description == "7 ends events freed work=a work=b")
        #expect(ServerMessage(message.description) == message)
        let long = ServerMessage(sender: 7, workIn: Set((0..<1000).map { "lane-\($0)" }))
        #expect(long.description == "7 work=*")
    }

    /// The first server does not renew its lease. The second or the third server excludes it
    /// (fences it), and notifies the other of these two.
    @Test func fencingAServerWakesTheOthers() async throws {
        let wakeUps = Atomics()
        var options = StoreOptions()
        options.cluster.mayExchange = { !wakeUps.isSilent.load(ordering: .relaxed) }
        let fixture = try StoreFixture(.postgreSQL, options: options)
        options = StoreOptions()
        options.cluster.onWork = { wakeUps.poster.wrappingAdd(1, ordering: .relaxed) }
        let second = try fixture.reopened(options: options)
        options.cluster.onWork = { wakeUps.other.wrappingAdd(1, ordering: .relaxed) }
        let third = try fixture.reopened(options: options)
        // The connections listen as soon as they are open. The change returns when the other
        // servers have received its message.
        let ada = try await fixture.addUser("ada", role: .admin)
        _ = try await fixture.store.changeUser(ada.name, role: .device, now: fixture.now)
        wakeUps.isSilent.store(true, ordering: .relaxed)
        try await eventually {
            wakeUps.poster.load(ordering: .relaxed) > 0 && wakeUps.other.load(ordering: .relaxed) > 0
        }
        await third.store.close()
        await second.store.close()
    }

    /// Without the message, the other servers would notice only some seconds later that the
    /// stopped server has left pushes which it had leased.
    @Test func aStoppingServerNotifiesTheOthersAndACommandDoesNot() async throws {
        let server = try StoreFixture(.postgreSQL)
        var options = StoreOptions()
        options.cluster.isListedAfterEnd = false
        let command = try server.reopened(options: options)
        let store = try #require(server.store as? PostgreSQLStore)
        let loop = try EventLoop(index: 0)
        let listener = ConnectionPool(store.address, .longTimeouts, on: loop)
        let heard = Heard()
        listener.listen("listen sealpost") { heard.add($0) }
        let _: Bool = await withCheckedContinuation { continuation in
            listener.control("select 1::int8") { _ in continuation.resume(returning: true) }
        }
        await command.store.close()
        await store.close()
        try await eventually { !heard.texts.isEmpty }
        #expect(heard.texts == ["\(store.membership.number) freed"])
        await listener.close()
        loop.stop()
    }

    @Test func aPostToALaneThatOthersSendWakesThem() async throws {
        let wakeUps = Atomics()
        var options = StoreOptions()
        options.cluster.announcedLanes = ["stream"]
        options.cluster.onWork = { wakeUps.poster.wrappingAdd(1, ordering: .relaxed) }
        let fixture = try StoreFixture(.postgreSQL, options: options)
        options.cluster.onWork = { wakeUps.other.wrappingAdd(1, ordering: .relaxed) }
        let other = try fixture.reopened(options: options)
        // This change shows that the connection is open and listens for messages.
        _ = try await fixture.store.changeUser(
            try await fixture.addUser("ada", role: .admin).name,
            role: .admin,
            now: fixture.now
        )
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "a")
        try await fixture.post(1, from: alice, to: "username:alice")
        #expect(wakeUps.other.load(ordering: .relaxed) == 0)
        try await fixture.addDevice(of: alice, platform: "stream", handle: "b")
        try await fixture.post(2, from: alice, to: "username:alice")
        try await eventually { wakeUps.other.load(ordering: .relaxed) > 0 }
        #expect(wakeUps.poster.load(ordering: .relaxed) == 0)
        await other.store.close()
    }

    private final class Atomics: Sendable {
        let poster = Atomic(0)
        let other = Atomic(0)
        let isSilent = Atomic(false)
    }

    @Test func simultaneousAnnouncementsAreMerged() async throws {
        let address = try PostgreSQLCluster.shared.newDatabase()
        let loop = try EventLoop(index: 0)
        let (speaker, listener) = (
            ConnectionPool(address, .longTimeouts, on: loop), ConnectionPool(address, .longTimeouts, on: loop)
        )
        let heard = Heard()
        listener.listen("listen sealpost") { heard.add($0) }
        let _: Bool = await withCheckedContinuation { continuation in
            listener.control("select 1::int8") { _ in continuation.resume(returning: true) }
        }
        let announcements = Announcements(speaker, on: loop)
        let start = ContinuousClock.now
        for number in 0..<2000 { announcements.add(ServerMessage(sender: 1, workIn: ["lane\(number % 10)"])) }
        announcements.add(ServerMessage(sender: 1, [.ends]))
        try await eventually { heard.texts.contains { $0.contains("ends") } }
        let most = (ContinuousClock.now - start) / .milliseconds(20) + 2
        #expect(Double(heard.texts.count) <= most)
        #expect(Set(heard.texts.flatMap { ServerMessage($0)?.lanes ?? [] }).count == 10)
        await speaker.close()
        await listener.close()
        loop.stop()
        try PostgreSQLCluster.shared.drop(address)
    }

    private final class Heard: Sendable {
        private let all = Mutex<[String]>([])

        func add(_ text: String) { self.all.withLock { $0.append(text) } }
        var texts: [String] { self.all.withLock { $0 } }
    }
}
