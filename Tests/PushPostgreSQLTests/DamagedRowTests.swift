import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Synchronization
import Testing

@testable import PushPostgreSQL

/// A row that cannot be read or decrypted does not stop the other pushes of the same provider and
/// batch. The store reports the row to the operator.
@Suite(.timeLimit(.minutes(5))) struct DamagedRowTests {
    @Test func aPushToADamagedAddressFailsAloneAndIsCounted() async throws {
        let fixture = try StoreFixture(.postgreSQL)
        let alice = try await fixture.addUser("alice")
        for number in 1...3 { try await fixture.addDevice(of: alice, handle: "d-\(number)") }
        try await fixture.post(1, from: alice, to: "username:alice")
        let store = try #require(fixture.store as? PostgreSQLStore)
        try BlockingConnection(store.address).execute(
            """
            update device set handle = (select handle from device order by number limit 1)
            where number = (select number from device order by number limit 1 offset 1)
            """
        )
        #expect(try await fixture.lease().map(\.push.handle).sorted() == ["d-1", "d-3"])
        #expect(try await fixture.reader.tallies()["apns"]?.failed == 1)
        #expect(store.report.setAside == 1)
    }

    /// A server of an older version does not wait until all servers have a new key. So it has
    /// encrypted a device's handle with a key that this server lacks.
    @Test func aPushWaitsForAKeyThatThisServerLacks() async throws {
        let events = Mutex([StoreEvent]())
        var options = StoreOptions.patient
        options.onEvent = { event in events.withLock { $0.append(event) } }
        let text = Keyring.generateText()
        let fixture = try StoreFixture(.postgreSQL, keyring: text, options: options)
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "old")
        let other = try fixture.reopened(options: .patient)
        let new = try Keyring(text: Keyring.addingKey(to: text).text)
        _ = try await other.store.replaceKeyring(new, now: fixture.now)
        let (first, second) = (
            try #require(fixture.store as? PostgreSQLStore), try #require(other.store as? PostgreSQLStore)
        )
        // The statement deletes the servers' lists of their keys. `second` then does not wait
        // until the other server has the new key.
        try BlockingConnection(first.address).execute("update node set keys = ''")
        try await second.settleKeys()
        try await other.addDevice(of: alice, handle: "new")
        try await fixture.post(1, from: alice, to: "username:alice")
        #expect(try await fixture.lease().map(\.push.handle) == ["old"])
        #expect(try await fixture.lease().isEmpty)
        #expect(events.withLock { $0 } == [.keyMissing(new.sealing)])
        #expect(try await fixture.reader.tallies()["apns"]?.failed == 0)
        fixture.clock.advance(by: Leasing.keyPause)
        // Any server that has the key sends the push, so this server sends it, too, after it has
        // received the key.
        #expect(try await fixture.lease().isEmpty)
        _ = try await fixture.store.replaceKeyring(new, now: fixture.now)
        fixture.clock.advance(by: Leasing.keyPause)
        #expect(try await fixture.lease().map(\.push.handle) == ["new"])
        await other.store.close()
    }

    /// The broadcast must end, because `sealpost deliveries --wait` would otherwise wait until the
    /// broadcast expires.
    @Test func anUnreadableBroadcastIsAbandoned() async throws {
        let fixture = try StoreFixture(.postgreSQL)
        let alice = try await fixture.addUser("alice")
        for number in 1...3 { try await fixture.addDevice(of: alice, handle: "d-\(number)", tags: ["a", "b"]) }
        for (number, tag) in [(1, "a"), (2, "b")] as [(Int64, String)] {
            try await fixture.post(number, from: alice, to: tag, page: 1)
        }
        let store = try #require(fixture.store as? PostgreSQLStore)
        try BlockingConnection(store.address).execute(
            "update fanout set expressions = (select expressions from fanout order by notification_id limit 1)"
        )
        while try await store.expandFanout(page: 10, now: fixture.now) != nil {}
        for number: Int64 in [1, 2] {
            #expect(try await !fixture.reader.isFanningOut(#require(NotificationID(rawValue: number))))
        }
        #expect(store.report.setAside == 1)
    }
}
