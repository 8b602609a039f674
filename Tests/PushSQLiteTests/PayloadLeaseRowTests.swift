import Foundation
import Migrations
import PushCore
import PushStore
import PushTesting
import SQLite
import Synchronization
import Testing

@testable import PushSQLite

/// The rows of leases (until a lease ends, its user may fetch a read-once payload again), and what
/// must happen before the store erases a payload.
@Suite(.timeLimit(.minutes(5))) struct PayloadLeaseRowTests {
    private let fixture: StoreFixture
    private let alice: User
    private let id: NotificationID

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        self.id = try #require(NotificationID(rawValue: 1))
    }

    private func lease(to user: User) async throws -> PayloadLease {
        try await self.fixture.store.lease(
            self.id,
            to: user.id,
            until: self.fixture.now + 60,
            recording: nil,
            now: self.fixture.now
        )
    }

    private func value(_ sql: String) async throws -> Int64? {
        try await self.fixture.sqlite.writer.write { try Int64.fetchOne($0, sql: sql) }
    }

    @Test func leaseIsInTheRowOfItsRecipient() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice", isReadOnce: true)
        #expect(try await self.value("select leased_until from untaken") == nil)
        #expect(try await self.lease(to: self.alice) == .granted)
        let end = Int64((self.fixture.now + 60).timeIntervalSince1970) * 1000
        #expect(try await self.value("select leased_until from untaken") == end)
        self.fixture.clock.advance(by: 60)
        #expect(try await self.fixture.store.endLeases(now: self.fixture.now, limit: 10) == nil)
        #expect(try await self.value("select count(*) from untaken") == 0)
        #expect(try await self.value("select payload is null from notification") == 1)
    }

    @Test func takingThatErasesNothingWipesNothing() async throws {
        let bob = try await self.fixture.addUser("bob")
        try await self.fixture.post(1, from: self.alice, to: "username:alice", "username:bob", isReadOnce: true)
        let erasures = { self.fixture.sqlite.writer.state.withLock { $0.erasures } }
        let before = erasures()
        #expect(try await self.fixture.store.take(self.id, by: self.alice.id, now: self.fixture.now))
        #expect(erasures() == before)
        #expect(try await self.fixture.store.take(self.id, by: bob.id, now: self.fixture.now))
        #expect(erasures() == before + 1)
    }

    /// The payload is erased as soon as the fan-out has found all recipients, and not before.
    @Test(arguments: [false, true])
    func aLeaseThatEndsDuringItsBroadcastEndsWithIt(endsBefore: Bool) async throws {
        for number in 0..<6 {
            try await self.fixture.addDevice(of: self.alice, handle: "d-\(number)", tags: ["news"])
        }
        try await self.fixture.post(1, from: self.alice, to: "news", isReadOnce: true, page: 2)
        #expect(try await self.lease(to: self.alice) == .granted)
        func endLeases() async throws {
            self.fixture.clock.advance(by: 60)
            #expect(try await self.fixture.store.endLeases(now: self.fixture.now, limit: 10) == nil)
        }
        func expand() async throws {
            while try await self.fixture.store.expandFanout(page: 2, now: self.fixture.now) != nil {}
        }
        let steps = endsBefore ? [endLeases, expand] : [expand, endLeases]
        for (step, isErased) in zip(steps, [Int64(0), 1]) {
            try await step()
            #expect(try await self.value("select payload is null from notification") == isErased)
        }
        #expect(try await self.lease(to: self.alice) == .refused)
    }

    @Test func databaseOfAnEarlierSchemaHasNoLeases() throws {
        let connection = try Connection()
        try connection.exclusively { db in
            try Schema.prepare(db, Migration.all.filter { $0.name < "M0003" })
            try db.execute(
                sql: """
                    insert into user (id, name, name_key, role, password, created_at)
                        values (1, x'', zeroblob(16), 'device', '', 0);
                    insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, seed, created_at,
                        expires_at, payload) values (1, 1, 1, 1, 'high', 0, 0, 1, x'00');
                    insert into recipient (notification_id, user_id, change, changed_at, mac) values (1, 1, 1, 0, 0);
                    insert into untaken (notification_id, user_id) values (1, 1);
                    """
            )
            try Schema.prepare(db)
            #expect(try Int.fetchOne(db, sql: "select count(*) from untaken where leased_until is null") == 1)
        }
    }
}
