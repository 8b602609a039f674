import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Synchronization
import Testing

@testable import PushPostgreSQL

/// Credentials that end at one of several servers, and when the other servers learn of this end.
@Suite(.timeLimit(.minutes(5))) struct RevocationTests {
    private let fixture: StoreFixture
    private let other: PostgreSQLStore
    private let heard = Heard()

    init() async throws {
        self.fixture = try StoreFixture(.postgreSQL, options: .patient)
        self.other = try #require(try self.fixture.reopened(options: .patient).store as? PostgreSQLStore)
        let heard = self.heard
        self.other.lease.onEnd { heard.add($0) }
    }

    /// Records the ends of credentials that the other server received, in order.
    private final class Heard: Sendable {
        private let ends = Mutex<[CredentialLease.End]>([])

        func add(_ ends: [CredentialLease.End]) { self.ends.withLock { $0 += ends } }
        var all: [CredentialLease.End] { self.ends.withLock { $0 } }
    }

    private func connection() throws -> BlockingConnection { try BlockingConnection(self.other.address) }

    private func disable(_ user: User, in store: (any Store)? = nil) async throws {
        let store = store ?? self.fixture.store
        #expect(try await store.changeUser(user.name, isDisabled: true, now: self.fixture.now) == .done)
    }

    @Test func aRevocationReachesOtherServersBeforeItReturns() async throws {
        let alice = try await self.fixture.addUser("alice")
        let now = self.fixture.now
        let token = try #require(
            try await self.fixture.store.addToken(for: alice.name, scopes: .all, expiresAt: now + 60, by: nil, now: now)
        )
        #expect(self.heard.all.isEmpty)
        #expect(try await self.fixture.store.revokeToken(token.prefix) == token.fingerprint)
        #expect(self.heard.all == [.token(token.fingerprint, user: alice.id)])
        #expect(try await self.fixture.store.changePassword(of: alice, to: PasswordHash(phc: "new")))
        #expect(self.heard.all.last == .user(alice.id))
        try await self.disable(alice)
        #expect(self.heard.all.count == 3)
        // A change without effect ends no credentials, so the other server receives nothing.
        #expect(try await self.fixture.store.revokeToken(token.prefix) == nil)
        #expect(try await !self.fixture.store.changePassword(of: alice, to: PasswordHash(phc: "newer")))
        #expect(self.heard.all.count == 3)
    }

    @Test func revocationsOfManyServersArriveInOrderAndOnce() async throws {
        let third = try self.fixture.reopened(options: .patient).store
        var users: [User] = []
        for number in 0..<40 { users.append(try await self.fixture.addUser("user\(number)")) }
        try await withThrowingTaskGroup { group in
            for (index, user) in users.enumerated() {
                group.addTask { try await self.disable(user, in: index.isMultiple(of: 2) ? self.fixture.store : third) }
            }
            try await group.waitForAll()
        }
        let stored = try self.connection().query("select user_id from account_end order by epoch").map {
            CredentialLease.End.user(try $0.integer(0))
        }
        #expect(stored.count == users.count)
        #expect(self.heard.all == stored)
    }

    @Test func aServerThatMissedRevocationsClearsItsCache() async throws {
        let users = [try await self.fixture.addUser("alice"), try await self.fixture.addUser("bob")]
        for user in users { try await self.disable(user) }
        #expect(self.heard.all == users.map { .user($0.id) })
        try self.connection().execute("update account_end set at = at - 3600001")
        _ = try self.connection().query(ServerMembership.trimEnds)
        #expect(try self.connection().query("select trimmed from epoch")[0].integer(0) == 2)
        #expect(try self.connection().query("select count(*) from account_end")[0].integer(0) == 0)
        // This simulates a server that was paused for more than an hour.
        self.other.membership.state.withLock { $0.assigned.seen = 1 }
        await self.catchUp(self.other)
        #expect(self.heard.all.last == .everything)
        #expect(self.other.membership.state.withLock { $0.assigned.seen } == 2)
    }

    @Test func aServerThatFindsAnOlderDatabaseClearsItsCache() async throws {
        try await self.disable(try await self.fixture.addUser("alice"))
        try self.connection().execute("update epoch set newest = 0; delete from account_end")
        await self.catchUp(self.other)
        #expect(self.heard.all.last == .everything)
        #expect(self.other.membership.state.withLock { $0.assigned.seen } == 0)
    }

    private func catchUp(_ store: PostgreSQLStore) async {
        let _: Bool = await withCheckedContinuation { continuation in
            store.membership.catchUp { continuation.resume(returning: $0) }
        }
    }

    @Test func aFencedServerClearsItsCacheAndTakesAnotherNumber() async throws {
        let (lease, number) = (self.other.membership.lease, self.other.membership.number)
        let term = try #require(lease.term)
        _ = try self.connection().query("update node set is_fenced = true where number = $1", number)
        try await eventually { self.heard.all == [.everything] && lease.term != nil }
        #expect(!lease.holds(term))
        #expect(self.other.membership.number > number)
        try await self.disable(try await self.fixture.addUser("alice"))
        #expect(self.heard.all.count == 2)
    }

    // MARK: Processes that do not answer

    private func addNode(until: String) throws -> Int64 {
        try self.connection().query(
            """
            insert into node (name, release, schema, started_at, until, sealing, seen_epoch)
            values ('silent', '', 'P0001_initial', 0, (extract(epoch from clock_timestamp()) * 1000)::int8 + \(until), 1, 0) returning number
            """
        )[0].integer(0)
    }

    /// The server `silent` never confirms the revocation. If the revocation waited for it, the
    /// call would finally fail with an unknown outcome.
    @Test func aRevocationIgnoresServersWithAnExpiredLease() async throws {
        _ = try self.addNode(until: "-1")
        try await self.disable(try await self.fixture.addUser("alice"))
    }

    @Test func aRevocationWaitsUntilAnotherServersLeaseExpires() async throws {
        let number = try self.addNode(until: "1000")
        try await self.disable(try await self.fixture.addUser("alice"))
        let isLate = try self.connection().query(
            "select until <= (extract(epoch from clock_timestamp()) * 1000)::int8 from node where number = $1",
            number
        )
        #expect(try isLate[0].boolean(0))
    }

    @Test func aRevocationThatAServerMissesHasAnUnknownOutcome() async throws {
        let number = try self.addNode(until: "3600000")
        var options = StoreOptions()
        options.writeTimeout = .seconds(7)
        let store = try self.fixture.reopened(options: options).store
        let alice = try await self.fixture.addUser("alice")
        await #expect { try await self.disable(alice, in: store) } throws: { error in
            if case StoreError.unknownOutcome = error { true } else { false }
        }
        // The server `silent` is fenced, so it must not renew its lease any more.
        let row = try self.connection().query("select is_fenced from node where number = $1", number)[0]
        #expect(try row.boolean(0))
    }

    // MARK: Requests under way

    @Test func requestsAdmittedBeforeALeaseGapAreRefused() async throws {
        let term = try #require(self.other.lease.term)
        let (carol, dave) = (try #require(Username("carol")), try #require(Username("dave")))
        let add = { (name: Username) in
            try await self.other.addUser(name, role: .device, password: PasswordHash(phc: ""), now: self.fixture.now)
        }
        #expect(try await CredentialLease.$admission.withValue(term) { try await add(carol) })
        self.other.lease.end(isFinal: false)
        for _ in 0..<2 {
            await #expect(throws: StoreError.self) {
                try await CredentialLease.$admission.withValue(term) { try await add(dave) }
            }
            // The request began before the lease ended. It stays refused, even after the server
            // has a lease again.
            try await eventually { self.other.lease.term != nil }
        }
        #expect(try await self.fixture.reader.user(named: dave) == nil)
        #expect(try await add(dave))
    }
}
