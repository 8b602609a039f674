import Foundation
import GRDB
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushSQLite

/// What one user may leave behind.
@Suite(.timeLimit(.minutes(5))) struct StorageBoundsTests {
    private let fixture: StoreFixture
    private let alice: User
    /// Sealed, 9 bytes of payload.
    private static let length = 9 + Vault.overhead

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    private func bounds(devices: Int = 100, notifications: Int = 100, bytes: Int = 1 << 20) throws -> StorageBounds {
        try #require(StorageBounds(devices: devices, notifications: notifications, bytes: bytes))
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
            let row = try Row.fetchOne(db, sql: "select notifications, bytes from usage where user_id = \(alice.id)")
            return try row.map { [try $0.decode(atIndex: 0), try $0.decode(atIndex: 1)] } ?? []
        }
    }

    // MARK: Notifications and bytes

    @Test func oneNotificationMoreIsRefusedUntilOneHasExpired() async throws {
        let bounds = try self.bounds(notifications: 2)
        #expect(try await self.post(1, within: bounds, expiresIn: 10) == .stored(pushes: 0, hasWork: false))
        #expect(try await self.post(2, within: bounds) == .stored(pushes: 0, hasWork: false))
        #expect(try await self.post(3, within: bounds) == .tooMuch(.notifications))
        // Its row stays until then, to tell those who have seen it.
        let first = try #require(NotificationID(rawValue: 1))
        #expect(try await fixture.store.recall(first, by: .sender(alice.id), now: fixture.now))
        #expect(try await self.post(3, within: bounds) == .tooMuch(.notifications))
        while try await fixture.store.deleteExpired(now: fixture.now + 10, page: 10) {}
        #expect(try await self.post(3, within: bounds) == .stored(pushes: 0, hasWork: false))
    }

    @Test func oneByteMoreIsRefusedUntilAPayloadIsErased() async throws {
        let bounds = try self.bounds(bytes: 2 * Self.length)
        #expect(try await self.post(1, within: bounds) == .stored(pushes: 0, hasWork: false))
        #expect(try await self.post(2, within: bounds, isReadOnce: true) == .stored(pushes: 0, hasWork: false))
        #expect(try await self.post(3, within: self.bounds(bytes: 3 * Self.length - 1)) == .tooMuch(.bytes))
        #expect(try await self.post(3, within: bounds) == .tooMuch(.bytes))
        let second = try #require(NotificationID(rawValue: 2))
        #expect(try await fixture.store.take(second, by: alice.id, now: fixture.now))
        #expect(try await self.post(3, within: bounds) == .stored(pushes: 0, hasWork: false))
        let first = try #require(NotificationID(rawValue: 1))
        #expect(try await fixture.store.recall(first, by: .administrator, now: fixture.now))
        #expect(try await self.post(4, within: bounds) == .stored(pushes: 0, hasWork: false))
    }

    @Test func whatOneUserHasIsNotAnothers() async throws {
        let bounds = try self.bounds(notifications: 1)
        let bob = try await fixture.addUser("bob")
        #expect(try await self.post(1, within: bounds) == .stored(pushes: 0, hasWork: false))
        #expect(
            try await fixture.post(2, from: bob, to: "username:alice", within: bounds)
                == .stored(pushes: 0, hasWork: false)
        )
        #expect(try await self.post(3, within: bounds) == .tooMuch(.notifications))
    }

    @Test func theCountsAreThoseOfTheRows() async throws {
        let bounds = try self.bounds()
        for number: Int64 in 1...6 {
            try await self.post(number, within: bounds, isReadOnce: number == 1, expiresIn: number == 2 ? 10 : 3600)
        }
        #expect(try await self.usage() == [6, 6 * Self.length])
        // An id that is taken changes nothing.
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

    @Test func aRepeatedRequestIsAnsweredThoughNothingMoreMayBeStored() async throws {
        let bounds = try self.bounds(notifications: 1)
        let request = IdempotentRequest(key: Data(repeating: 1, count: 16), request: Data(repeating: 2, count: 16))
        #expect(
            try await fixture.post(1, from: alice, to: "username:alice", once: request, within: bounds)
                == .stored(pushes: 0, hasWork: false)
        )
        guard
            case .repeated = try await fixture.post(2, from: alice, to: "username:alice", once: request, within: bounds)
        else {
            Issue.record("it is not the same request")
            return
        }
    }

    // MARK: Devices

    private func register(_ id: String, _ handle: String, within bounds: StorageBounds) async throws
        -> RegisterOutcome
    {
        try await fixture.store.register(
            DeviceRegistration(
                platform: Platform("apns"),
                lane: Lane(Platform("apns")),
                handle: #require(DeviceHandle(handle)),
                tags: []
            ),
            as: #require(RegistrationID(id)),
            for: alice,
            within: bounds,
            now: fixture.now
        )
    }

    @Test func oneDeviceMoreIsRefusedAndOneThatIsKnownIsNot() async throws {
        let bounds = try self.bounds(devices: 2)
        #expect(try await self.register("one", "aa", within: bounds) == .registered(moved: 0))
        #expect(try await self.register("two", "bb", within: bounds) == .registered(moved: 0))
        #expect(try await self.register("three", "cc", within: bounds) == .tooMany)
        #expect(try await self.register("two", "cc", within: bounds) == .registered(moved: 0))
        // In the place of the one that had the handle.
        #expect(try await self.register("three", "cc", within: bounds) == .registered(moved: 0))
        #expect(try await self.register("four", "dd", within: bounds) == .tooMany)
        #expect(try await fixture.store.unregister(#require(RegistrationID("one")), ofUser: alice.id))
        #expect(try await self.register("four", "dd", within: bounds) == .registered(moved: 0))
    }

    @Test func tombstonesDoNotPileUp() async throws {
        let bounds = try self.bounds(devices: 1)
        for number in 0..<130 {
            fixture.clock.advance(by: 1)
            #expect(try await self.register("id-\(number)", "aa", within: bounds) == .registered(moved: 0))
        }
        let rows = try await fixture.sqlite.writer.write { try Int.fetchOne($0, sql: "select count(*) from device") }
        #expect(rows == 101)
        #expect(
            try await self.register("id-128", "bb", within: bounds) == .gone(reason: "the handle was registered again")
        )
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
                and retired_at is not null order by retired_at desc limit -1 offset 100
            """, "device_by_retirement"
        ),
        (
            """
            select notification_id, lane from delivery
            where device = 1 and settled_at is null and due_at is not null and state = 'queued' and lane <> 'fcm'
            limit 9
            """, "delivery_by_device"
        ),
    ])
    func whatIsAskedInAWriteIsFoundByAnIndex(query: String, index: String) async throws {
        let plan = try await fixture.sqlite.writer.write { db in
            try Row.fetchAll(db, sql: "explain query plan " + query).map {
                try $0.decode(String.self, forColumn: "detail")
            }
        }
        #expect(plan.contains { $0.contains(index) }, "\(plan)")
        #expect(!plan.contains { $0.hasPrefix("SCAN d") || $0.contains("TEMP B-TREE") }, "\(plan)")
    }
}
