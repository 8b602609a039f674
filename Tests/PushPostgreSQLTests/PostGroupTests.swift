import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// Simultaneous posts of many callers, which the store commits in one transaction.
@Suite(.timeLimit(.minutes(5))) struct PostGroupTests {
    private let fixture: StoreFixture
    private let store: PostgreSQLStore
    private let alice: User
    private let bob: User

    init() async throws {
        self.fixture = try StoreFixture(.postgreSQL)
        self.store = try #require(self.fixture.store as? PostgreSQLStore)
        self.alice = try await self.fixture.addUser("alice", role: .publisher)
        self.bob = try await self.fixture.addUser("bob")
    }

    private func member(
        _ number: Int64,
        from sender: User,
        to expression: String,
        once request: IdempotentRequest? = nil,
        within bounds: StorageBounds? = nil
    ) throws -> PostRequest {
        let id = try #require(NotificationID(rawValue: number))
        let post = NewNotification(
            id: id,
            sender: sender.id,
            sealedPayload: try self.store.vault.seal(Data("payload".utf8), in: .payload(id, sender: sender.id)),
            audience: self.store.hashed(Audience([try TagExpression(expression)])),
            createdAt: self.fixture.now,
            expiresAt: self.fixture.now + 3600,
            options: NotificationOptions { $0.request = request }
        )
        return PostRequest([post], within: bounds)
    }

    private func outcomes(_ members: [PostRequest]) async -> [PostOutcome?] {
        await self.store.store(members).map { end in
            if case .success(.outcomes(let outcomes)) = end { outcomes.first } else { nil }
        }
    }

    private func request(_ key: UInt8, _ request: UInt8, length: Int = 16) -> IdempotentRequest {
        IdempotentRequest(key: Data(repeating: key, count: 16), request: Data(repeating: request, count: length))
    }

    @Test func theWritesOfACommitAndItsTimeAreCounted() async throws {
        let before = try #require(self.store.report.commits)
        let members = try (1...3).map { try self.member($0, from: self.alice, to: "username:bob") }
        #expect(await self.outcomes(members).allSatisfy { $0 != nil })
        let after = try #require(self.store.report.commits)
        #expect(after.writes - before.writes == 3)
        #expect(after.times.total - before.times.total == 1)
    }

    /// Returns the stored ids, and the number of transactions that stored them.
    private func stored() throws -> (ids: [Int64], transactions: Int64) {
        let other = try BlockingConnection(self.store.address)
        let ids = try other.query("select id from notification order by id").map { try $0.integer(0) }
        let row = try #require(try other.query("select count(distinct xmin::text) from notification").first)
        return (ids, try row.integer(0))
    }

    /// Makes the database run the statement at each commit that inserts notifications.
    /// `nextval('commits')` counts the inserted rows of all commits, even of commits that failed.
    private func onCommit(_ statement: String) throws {
        try BlockingConnection(self.store.address).execute(
            """
            create sequence commits;
            create function at_commit() returns trigger language plpgsql as $$ begin \(statement); return null; end $$;
            create constraint trigger at_commit after insert on notification deferrable initially deferred
                for each row execute function at_commit();
            """
        )
    }

    // MARK: Groups

    @Test func membersOfManySendersHaveTheirOwnOutcomes() async throws {
        try await self.fixture.addDevice(of: self.bob, handle: "d-bob")
        let once = self.request(1, 1)
        #expect(
            try await self.fixture.post(1, from: self.alice, to: "username:alice", once: once)
                == .stored(pushes: 0, hasWork: false)
        )
        let one = try #require(StorageBounds(devices: 10, notifications: 1, bytes: 1 << 20))
        let two = try #require(StorageBounds(devices: 10, notifications: 2, bytes: 1 << 20))
        let outcomes = await self.outcomes([
            try self.member(2, from: self.alice, to: "username:bob", within: two),
            try self.member(3, from: self.bob, to: "username:alice", within: one),
            try self.member(4, from: self.alice, to: "username:nobody"),
            try self.member(5, from: self.alice, to: "username:bob", within: two),
            try self.member(6, from: self.bob, to: "username:bob", once: self.request(1, 2)),
            try self.member(7, from: self.bob, to: "username:bob", once: self.request(1, 1)),
            try self.member(8, from: self.bob, to: "username:bob", once: self.request(2, 2)),
            try self.member(9, from: self.bob, to: "username:bob", within: one),
        ])
        let nobody = try #require(Username("nobody"))
        #expect(outcomes[0] == .stored(pushes: 1))
        #expect(outcomes[1] == .stored(pushes: 0, hasWork: false))
        #expect(outcomes[2] == .unknownUser(nobody))
        #expect(outcomes[3] == .tooMuch(.notifications))
        #expect(outcomes[4] == .keyReused)
        let first = try #require(NotificationID(rawValue: 1))
        let (start, reach) = (self.fixture.now, Reach(recipients: 1, pushes: 0))
        #expect(outcomes[5] == .repeated(first, createdAt: start, expiresAt: start + 3600, reach: reach))
        #expect(outcomes[6] == .stored(pushes: 1))
        #expect(outcomes[7] == .tooMuch(.notifications))
        #expect(try self.stored() == ([1, 2, 3, 8], 2))
        #expect(try await self.fixture.lease().map(\.push.notification.rawValue).sorted() == [2, 8])
        let range = ChangeRange(after: nil, limit: 10, isUnreadOnly: false)
        let (reader, now) = (self.fixture.reader, self.fixture.now)
        let page = try await reader.notifications(range, for: self.bob.id, now: now) { _ in false }
        #expect(Set(page.entries.map(\.id.rawValue)) == [2, 8])
    }

    @Test func aTakenIDFailsOnlyItsOwnPost() async throws {
        try await self.fixture.post(2, from: self.bob, to: "username:bob")
        let one = try #require(StorageBounds(devices: 10, notifications: 1, bytes: 1 << 20))
        let ends = await self.outcomes([
            try self.member(1, from: self.alice, to: "username:alice"),
            try self.member(1, from: self.bob, to: "username:bob"),
            try self.member(2, from: self.alice, to: "username:alice", within: nil),
            try self.member(3, from: self.alice, to: "username:alice", within: one),
        ])
        #expect(ends[0] == .stored(pushes: 0, hasWork: false))
        // The second member of the group posts under the same id as the first.
        #expect(ends[1] == .idTaken)
        #expect(ends[2] == .idTaken)
        #expect(ends[3] == .tooMuch(.notifications))
        #expect(try self.stored().ids == [1, 2])
    }

    /// The group finds that the id is free. It then waits for the other transaction, which inserts
    /// the same id.
    @Test func anIDTakenMeanwhileFailsOnlyItsOwnPost() async throws {
        let (one, other) = (try BlockingConnection(self.store.address), try BlockingConnection(self.store.address))
        try one.execute(
            """
            begin;
            insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, sequence, seed, created_at, expires_at)
                values (2, \(self.bob.id), true, false, 'high', 1, 1, 0, 0)
            """
        )
        let members = try (Int64(1)...3).map { try self.member($0, from: self.alice, to: "username:bob") }
        async let outcomes = self.outcomes(members)
        try await eventually {
            try other.query(
                "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            ).count > 0
        }
        try one.execute("commit")
        let stored = PostOutcome.stored(pushes: 0, hasWork: false)
        #expect(await outcomes == [stored, .idTaken, stored])
        #expect(try self.stored().ids == [1, 2, 3])
    }

    /// Each of the posts locks bob's row before the post before it ends. Other posts must wait
    /// until the change has its turn.
    @Test func postsWithoutAPauseDoNotPreventAChangeOfTheirRecipient() async throws {
        let (posts, watch) = (try BlockingConnection(self.store.address), try BlockingConnection(self.store.address))
        try posts.execute("begin; select id from account for key share")
        async let outcome = self.store.changeUser(self.bob.name, isDisabled: true, now: self.fixture.now)
        // Ends the first run, whose wait for the row has a long timeout in tests.
        let cancellation = """
            select pg_cancel_backend(pid) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'
            """
        try await eventually { try watch.query(cancellation).count > 0 }
        let waiting = """
            select 1 from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
            where l.locktype = 'relation' and l.mode = 'ExclusiveLock' and not l.granted
            """
        try await eventually { try watch.query(waiting).count > 0 }
        #expect(throws: DatabaseError.self) { try watch.execute("lock table account in row share mode nowait") }
        try posts.execute("commit")
        #expect(try await outcome == .done)
    }

    /// The third post breaks a rule of the table. The other posts come at the same time.
    @Test func anInvalidPostFailsWithoutItsGroup() async throws {
        let other = try BlockingConnection(self.store.address)
        try other.execute("begin; select id from account for update")
        let fixture = self.fixture
        let (alice, poison) = (self.alice, self.request(3, 3, length: 15))
        let failed: [Int64] = try await withThrowingTaskGroup(of: Int64?.self) { group in
            func post(_ number: Int64, once request: IdempotentRequest? = nil) {
                group.addTask {
                    do {
                        let outcome = try await fixture.post(number, from: alice, to: "username:alice", once: request)
                        #expect(outcome == .stored(pushes: 0, hasWork: false))
                        return nil
                    } catch StoreError.failed {
                        return number
                    }
                }
            }
            for number in Int64(1)...2 { post(number) }
            try await eventually { fixture.store.report.waiting == 2 }
            for number in Int64(3)...10 { post(number, once: number == 5 ? poison : nil) }
            try await eventually { fixture.store.report.waiting == 10 }
            try other.execute("commit")
            var failed: [Int64] = []
            for try await number in group { if let number { failed.append(number) } }
            return failed
        }
        #expect(failed == [5])
        #expect(try self.stored().ids == [1, 2, 3, 4, 6, 7, 8, 9, 10])
    }

    @Test func callersWaitingForAGroupShareTheNext() async throws {
        let other = try BlockingConnection(self.store.address)
        try other.execute("begin; select id from account for update")
        let (fixture, alice, bob) = (self.fixture, self.alice, self.bob)
        try await withThrowingTaskGroup(of: Void.self) { group in
            func post(_ number: Int64) {
                group.addTask {
                    let sender = number % 2 == 0 ? alice : bob
                    try await fixture.post(number, from: sender, to: "username:alice", "username:bob")
                }
            }
            for number in Int64(1)...2 { post(number) }
            try await eventually { fixture.store.report.waiting == 2 }
            for number in Int64(3)...20 { post(number) }
            try await eventually { fixture.store.report.waiting == 20 }
            try other.execute("commit")
            try await group.waitForAll()
        }
        let stored = try self.stored()
        #expect(stored.ids == Array(1...20))
        // At most four groups stored the posts: two that began immediately, and two that the first
        // waiting callers began.
        #expect(stored.transactions <= 4)
        #expect(fixture.store.report.waiting == 0)
    }

    // MARK: Lost connections

    @Test func aGroupWhoseCommitIsLostIsStoredOnce() async throws {
        try self.onCommit(
            "if nextval('commits') = 1 then perform pg_terminate_backend(pg_backend_pid()), pg_sleep(10); end if"
        )
        let members = try (Int64(1)...5).map {
            try self.member($0, from: $0 % 2 == 0 ? self.alice : self.bob, to: "username:bob")
        }
        #expect(await self.outcomes(members) == members.map { _ in .stored(pushes: 0, hasWork: false) })
        #expect(try self.stored() == (Array(1...5), 1))
    }

    /// The database reports that the commit was not replicated, although the primary database has
    /// stored it.
    @Test func aGroupWhoseCommitWasDoneIsNotStoredTwice() async throws {
        try self.onCommit("perform nextval('commits'); raise warning 'not replicated'")
        let nobody = try #require(Username("nobody"))
        let outcomes = await self.outcomes([
            try self.member(1, from: self.alice, to: "username:bob"),
            try self.member(2, from: self.bob, to: "username:nobody"),
            try self.member(3, from: self.bob, to: "username:bob", once: self.request(1, 1)),
        ])
        #expect(
            outcomes == [.stored(pushes: 0, hasWork: false), .unknownUser(nobody), .stored(pushes: 0, hasWork: false)]
        )
        let other = try BlockingConnection(self.store.address)
        #expect(try other.query("select last_value from commits").first?.integer(0) == 2)
        #expect(try other.query("select sum(notifications)::int8 from usage").first?.integer(0) == 2)
        #expect(try self.stored() == ([1, 3], 1))
    }

    @Test func aGroupWithAnUnknownOutcomeAcknowledgesNothing() async throws {
        try self.onCommit("perform pg_terminate_backend(pg_backend_pid()), pg_sleep(10)")
        let members = try (Int64(1)...3).map { try self.member($0, from: self.alice, to: "username:bob") }
        for end in await self.store.store(members) {
            guard case .failure(.unknownOutcome) = end else {
                Issue.record("\(end)")
                continue
            }
        }
        #expect(try self.stored().ids.isEmpty)
    }
}
