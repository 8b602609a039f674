import PostgreSQL
import PushCore
import PushPostgreSQL
import PushStore
import PushTesting
import Testing

/// The cost of leasing and settling pushes: the indexes that change, and the rows that are read.
@Suite(.timeLimit(.minutes(5))) struct PushRowTests {
    private let fixture: StoreFixture
    private let alice: User
    private let connection: BlockingConnection

    init() async throws {
        self.fixture = try StoreFixture(.postgreSQL)
        self.alice = try await self.fixture.addUser("alice", role: .publisher)
        self.connection = try self.fixture.connect()
    }

    private func leased(_ devices: Int) async throws -> [LeasedDelivery] {
        for number in 0..<devices {
            try await self.fixture.addDevice(of: self.alice, handle: "d-\(number)", tags: ["news"])
        }
        try await self.fixture.post(1, from: self.alice, to: "news")
        return try await self.fixture.lease()
    }

    private func count(_ table: String) throws -> Int64 {
        try self.connection.query("select count(*) from \(table)")[0].integer(0)
    }

    /// Returns the size of all indexes of `push`, in bytes.
    private func indexSize() throws -> Int64 {
        try self.connection.query("select pg_indexes_size('push')")[0].integer(0)
    }

    /// The second case is a control: its pages are as full as before the migration P0008.
    @Test(arguments: [(nil, false), (70, true)] as [(fillFactor: Int?, changesIndexes: Bool)])
    func aLeaseChangesNoIndex(fillFactor: Int?, changesIndexes: Bool) throws {
        if let fillFactor { try self.connection.execute("alter table push set (fillfactor = \(fillFactor))") }
        try self.connection.execute(
            """
            insert into push (notification_id, device, user_id, lane, is_bulk, due_at)
                select 1, n, n, 'apns', true, n from generate_series(1, 5000) as n
            """
        )
        let before = try self.indexSize()
        try self.connection.execute("update push set owner = 1, attempts = attempts + 1")
        #expect(try (self.indexSize() > before) == changesIndexes)
    }

    /// The fan-out found the same device twice. The device's first push ended before the second
    /// was added.
    @Test func aSecondPushToADeviceKeepsTheFirstOutcome() async throws {
        let leased = try await self.leased(2)
        try self.connection.execute(
            """
            insert into push_end (notification_id, device, user_id, lane, is_bulk, state, attempts, settled_at)
                values (1, \(leased[0].device), 1, 'apns', true, 'failed', 1, 1)
            """
        )
        try await self.fixture.store.settle(leased.map { ($0, .accepted(providerID: nil)) }, now: self.fixture.now)
        #expect(try self.count("push") == 0)
        #expect(try self.count("push_end where state = 'failed'") == 1)
        #expect(try self.count("push_end") == 2)
    }

    /// The pushes are two full pages, with the leased push. That push is withdrawn, and the other
    /// pushes are cancelled.
    @Test func aRetiredDeviceLosesMoreThanAPageOfPushes() async throws {
        let leased = try #require(try await self.leased(1).first)
        let waiting = 2 * PostgreSQLStore.deletionPage - 1
        try self.connection.execute(
            """
            insert into push (notification_id, device, user_id, lane, is_bulk, due_at)
                select 1 + n, \(leased.device), \(self.alice.id), 'apns', false, 1 from generate_series(1, \(waiting)) as n
            """
        )
        let retired = try await self.fixture.store.retire(
            device: leased.device,
            handle: "d-0",
            in: Lane(Platform("apns")),
            reason: "gone",
            since: self.fixture.now,
            now: self.fixture.now
        )
        #expect(retired != nil)
        #expect(try self.count("push") == 1)
        #expect(try self.count("push where is_withdrawn and owner is not null") == 1)
        #expect(try self.count("push_end where state = 'cancelled' and reason = 'gone'") == waiting)
    }

    /// By PostgreSQL's statistics, the table is empty. One push is retried, so the store looks for
    /// its earlier outcome.
    @Test func earlierOutcomesAreFoundByTheirKeys() async throws {
        let leased = try await self.leased(20)
        let retried = Settlement.retried(at: self.fixture.now, reason: "later")
        let before = 20_000
        func ends(of notification: Int) -> String {
            """
            insert into push_end (notification_id, device, user_id, lane, is_bulk, state, attempts, settled_at)
                select \(notification), 1000000 + n, n, 'apns', true, 'accepted', 1, 1 from generate_series(1, \(before)) as n;
            """
        }
        try self.connection.execute(
            """
            alter table push_end set (autovacuum_enabled = off);
            \(ends(of: 2))
            delete from push_end;
            analyze push_end;
            \(ends(of: 1))
            """
        )
        let read = try self.connection.entriesRead(in: "push_end_pkey")
        let accepted = Settlement.accepted(providerID: nil)
        let settlements = leased.map { ($0, $0.device == leased[0].device ? retried : accepted) }
        try await self.fixture.store.settle(settlements, now: self.fixture.now)
        await self.fixture.store.close()
        try await self.connection.awaitEnd()
        #expect(try self.connection.entriesRead(in: "push_end_pkey") - read < before)
        // This count comes last, because it also reads the index whose reads the test counts.
        #expect(try self.count("push_end") == before + leased.count - 1)
    }
}
