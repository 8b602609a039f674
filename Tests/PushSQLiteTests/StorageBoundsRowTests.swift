import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// The rows by which the store counts what a user has stored, and the cost of the queries about
/// them.
@Suite(.timeLimit(.minutes(5))) struct StorageBoundsRowTests {
    private let fixture: StoreFixture
    private let alice: User
    /// The stored length of a payload of 9 bytes, including the overhead of its encryption.
    private static let length = 9 + Vault.overhead

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    private func bounds(devices: Int = 100) throws -> StorageBounds {
        try #require(StorageBounds(devices: devices, notifications: 100, bytes: 1 << 20))
    }

    @discardableResult
    private func post(
        _ number: Int64,
        within bounds: StorageBounds,
        isReadOnce: Bool = false,
        expiresIn: TimeInterval = 3600
    ) async throws -> PostOutcome {
        try await fixture.post(
            number,
            from: alice,
            to: "username:alice",
            isReadOnce: isReadOnce,
            within: bounds,
            expiresIn: expiresIn
        )
    }

    private func usage() async throws -> [Int] {
        try await fixture.sqlite.writer.write { db in
            try db.first("select notifications, bytes from usage where user_id = ?", alice.id) {
                [Int($0.integer(0)), Int($0.integer(1))]
            } ?? []
        }
    }

    @Test func countsMatchTheRows() async throws {
        let bounds = try self.bounds()
        for number: Int64 in 1...6 {
            try await self.post(number, within: bounds, isReadOnce: number == 1, expiresIn: number == 2 ? 10 : 3600)
        }
        #expect(try await self.usage() == [6, 6 * Self.length])
        // A post whose id is taken does not change the counts.
        #expect(try await self.post(1, within: bounds) == .idTaken)
        #expect(try await fixture.store.take(#require(NotificationID(rawValue: 1)), by: alice.id, now: fixture.now))
        #expect(
            try await fixture.store.recall(#require(NotificationID(rawValue: 3)), by: .administrator, now: fixture.now)
        )
        #expect(try await self.usage() == [6, 4 * Self.length])
        while try await fixture.store.deleteExpired(now: fixture.now + 10, page: 1) {}
        #expect(try await self.usage() == [5, 3 * Self.length])
        while try await fixture.store.deleteExpired(now: fixture.now + 3600, page: 2) {}
        #expect(try await self.usage() == [0, 0])
        try await self.post(7, within: bounds)
        #expect(try await fixture.store.deleteUser(alice.name) == .done)
        #expect(try await self.usage().isEmpty)
        while try await fixture.store.deleteExpired(now: fixture.now + 3600, page: 2) {}
        #expect(try await self.usage().isEmpty)
    }

    // MARK: Devices

    @Test func tombstonesDoNotPileUp() async throws {
        let bounds = try self.bounds(devices: 1)
        for number in 0..<130 {
            fixture.clock.advance(by: 1)
            let outcome = try await fixture.register("id-\(number)", handle: "aa", of: alice, within: bounds)
            #expect(outcome == .registered(moved: 0))
        }
        let rows = try await fixture.sqlite.writer.write { try Int.fetchOne($0, sql: "select count(*) from device") }
        #expect(rows == 101)
        let outcome = try await fixture.register("id-128", handle: "bb", of: alice, within: bounds)
        #expect(outcome == .gone(reason: "the handle was registered again"))
    }

    // MARK: Costs

    @Test(arguments: [
        ("select notifications, bytes from usage where user_id = 1", "INTEGER PRIMARY KEY"),
        (
            """
            select count(*) from (
                select 1 from device where user_id = 1 and handle is not null and number is not null limit 9)
            """, "device_by_user"
        ),
        (
            """
            select number from device where user_id = (select user_id from device where number = 1)
                and retired_at is not null order by \(StoredDevice.tombstoneOrder) limit -1 offset 100
            """, "device_by_retirement"
        ),
        (
            """
            select notification_id, lane from push
            where device = 1 and settled_at is null and due_at is not null and state = 'queued' and lane <> 'fcm'
            limit 9
            """, "delivery_by_device"
        ),
    ])
    func queriesOfWritesUseTheirIndexes(query: String, index: String) async throws {
        let plan = try await fixture.sqlite.writer.write { db in
            try db.plan(of: query)
        }
        #expect(plan.contains { $0.contains(index) }, "\(plan)")
        #expect(!plan.contains { $0.hasPrefix("SCAN d") || $0.contains("TEMP B-TREE") }, "\(plan)")
    }
}
