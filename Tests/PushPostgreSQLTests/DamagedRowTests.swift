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
}
