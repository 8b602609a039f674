import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// Rows that cannot be read stop neither their lane nor their batch, and the operator is told.
@Suite(.timeLimit(.minutes(2))) struct DamagedRowTests {
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
        #expect(try await fixture.claim().map(\.push.handle).sorted() == ["d-1", "d-3"])
        #expect(try await fixture.reader.tallies()["apns"]?.failed == 1)
        #expect(store.report.setAside == 1)
    }

    /// `sealpost deliveries --wait` would wait for it until it has expired.
    @Test func aBroadcastThatCannotBeReadGoesNoFurther() async throws {
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
