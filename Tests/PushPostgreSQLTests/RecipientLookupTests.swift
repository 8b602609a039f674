import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

/// Looking up a recipient costs the same if the user has very many notifications, or the
/// notification very many recipients. The cost must be the same even before PostgreSQL has
/// statistics of the rows.
@Suite(.timeLimit(.minutes(5))) struct RecipientLookupTests {
    /// The rows that PostgreSQL's statistics describe.
    enum Counted: CaseIterable {
        case withOneRecipientEach, asTheyAre
    }

    private static let crowd = 10_000

    private let fixture: StoreFixture
    private let alice: User
    private let connection: BlockingConnection

    init() async throws {
        self.fixture = try StoreFixture(.postgreSQL)
        self.alice = try await self.fixture.addUser("alice", role: .publisher)
        self.connection = try self.fixture.connect()
        for number in 0..<12 {
            let user = try await self.fixture.addUser("user\(number)")
            try await self.fixture.addDevice(of: user, handle: "d-\(number)", tags: ["news"])
        }
    }

    private func fill(_ table: String, _ columns: String, _ values: String) throws {
        try self.connection.execute(
            "insert into \(table) (\(columns)) select \(values) from generate_series(1, \(Self.crowd)) as n on conflict do nothing"
        )
    }

    /// Stores many notifications whose only recipient is `user`.
    private func fillNotifications(from first: Int, of user: String) throws {
        let now = self.fixture.now.milliseconds
        try self.fill(
            "notification",
            "id, sender_id, is_stored_by_clients, is_read_once, priority, seed, created_at, expires_at, payload",
            "\(first) + n, 1, true, false, 'high', n, \(now), \(now) + 1000000, decode('00', 'hex')"
        )
        try self.fill(
            "recipient",
            "notification_id, user_id, change, changed_at, mac",
            "\(first) + n, \(user), n, 0, 0"
        )
    }

    private func addCrowd(to notification: Int64) throws {
        try self.fill(
            "recipient",
            "notification_id, user_id, change, changed_at, mac",
            "\(notification), 1000000 + n, \(notification), 0, 0"
        )
    }

    /// Returns the number of entries that `work` reads in the indexes of recipients, notifications
    /// and leased payloads.
    private func entriesRead(_ work: (StoreFixture) async throws -> Void) async throws -> Int64 {
        let indexes = ["recipient_pkey", "recipient_by_user", "notification_pkey", "untaken_pkey", "untaken_by_lease"]
        let count = { try indexes.map { try self.connection.entriesRead(in: $0) }.reduce(0, +) }
        let before = try count()
        let fixture = try self.fixture.reopened()
        try await work(fixture)
        await fixture.store.close()
        try await self.connection.awaitEnd()
        return try count() - before
    }

    @Test(arguments: Counted.allCases) func noOperationReadsOtherRecipients(counted: Counted) async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        try await self.fixture.post(2, from: self.alice, to: "username:alice", isReadOnce: true)
        await self.fixture.store.close()
        try await self.connection.awaitEnd()
        let tables = ["recipient", "notification"]
        for table in tables { try self.connection.execute("alter table \(table) set (autovacuum_enabled = off)") }
        try self.fillNotifications(from: 1_000_000, of: "1000 + n")
        let count = { for table in tables { try self.connection.execute("analyze \(table)") } }
        if counted == .withOneRecipientEach { try count() }
        try self.fillNotifications(from: 2_000_000, of: "(select id from account order by id limit 1)")
        for notification in [1, 2] as [Int64] { try self.addCrowd(to: notification) }
        try self.fill("untaken", "notification_id, user_id, leased_until", "2, 1000000 + n, 1")
        try self.fill("user_change", "user_id, change", "1000000 + n, 0")
        if counted == .asTheyAre { try count() }

        for operation in Operation.allCases {
            let read = try await self.entriesRead { try await self.perform(operation, $0) }
            #expect(read < Self.crowd / 2, "\(operation)")
        }
    }

    private enum Operation: CaseIterable {
        case fetch, fetchOfWhatIsReadOnce, list, mark, receipt, taking, recall
    }

    private func perform(_ operation: Operation, _ fixture: StoreFixture) async throws {
        let (alice, now, store, reader) = (self.alice.id, self.fixture.now, fixture.store, fixture.reader)
        let (one, secret) = (try #require(NotificationID("1")), try #require(NotificationID("2")))
        switch operation {
        case .fetch, .fetchOfWhatIsReadOnce:
            let id = operation == .fetch ? one : secret
            #expect(try await reader.notification(id, for: alice, alsoAsSender: true, now: now) != nil)
        case .list:
            let page = try await reader.notifications(
                [one],
                of: .usual,
                for: alice,
                now: now,
                within: .unlimited,
                needsPayloads: { _ in true }
            )
            #expect(page.entries.count == 1)
        case .mark:
            #expect(try await store.markRead([one], by: self.alice, now: now).read == [one])
        case .receipt:
            store.recordFetch(of: one, by: alice, now: now)
            try await store.writeReceipts()
        case .taking:
            _ = try await store.lease(secret, to: alice, until: now + 60, recording: nil, now: now)
            _ = try await store.take(secret, by: alice, recording: nil, now: now)
        case .recall:
            #expect(try await store.recall(one, by: .sender(alice), recording: nil, page: 5, now: now))
        }
    }

    @Test(arguments: Counted.allCases)
    func aBroadcastPageReadsOnlyItsOwnRecipients(counted: Counted) async throws {
        try await self.fixture.post(1, from: self.alice, to: "news", page: 4)
        await self.fixture.store.close()
        try self.connection.execute("alter table recipient set (autovacuum_enabled = off)")
        if counted == .withOneRecipientEach { try self.connection.execute("analyze recipient") }
        try self.addCrowd(to: 1)
        if counted == .asTheyAre { try self.connection.execute("analyze recipient") }
        let read = try await self.entriesRead { fixture in
            while try await fixture.store.expandFanout(page: 4, now: fixture.now) != nil {}
        }
        #expect(read < Self.crowd / 2)
        #expect(try self.connection.query("select count(*) from push")[0].integer(0) == 12)
    }
}
