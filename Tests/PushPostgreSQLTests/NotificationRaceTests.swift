import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Two servers store, lease and list notifications of one database at the same time.
@Suite(.timeLimit(.minutes(5))) struct NotificationRaceTests {
    /// The stores of two servers.
    private let servers: [StoreFixture]
    private let alice: User
    private let bob: User
    private var first: StoreFixture { self.servers[0] }

    init() async throws {
        let fixture = try StoreFixture(.postgreSQL, options: .patient)
        self.servers = [fixture, try fixture.reopened(options: .patient)]
        self.alice = try await fixture.addUser("alice", role: .publisher)
        self.bob = try await fixture.addUser("bob")
    }

    /// Starts `count` runs of the body together, every second run on the other server.
    private func atOnce<Outcome: Sendable>(
        _ count: Int,
        _ body: @escaping @Sendable (Int, StoreFixture) async throws -> Outcome
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            for number in 0..<count {
                let server = self.servers[number % self.servers.count]
                group.addTask { try await body(number, server) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func id(_ number: Int64) throws -> NotificationID {
        try #require(NotificationID(rawValue: number))
    }

    private func page(after start: Int64?, of user: User) async throws -> NotificationPage {
        let range = ChangeRange(after: start, limit: 500, isUnreadOnly: false)
        return try await self.first.reader.notifications(range, for: user.id, now: self.first.now) { _ in false }
    }

    // MARK: Posts

    @Test func requestsWithOneIdempotencyKeyStoreOneNotification() async throws {
        let request = IdempotentRequest(key: Data(repeating: 1, count: 16), request: Data(repeating: 2, count: 16))
        let outcomes = try await self.atOnce(8) { [alice] number, server in
            try await server.post(Int64(number) + 1, from: alice, to: "username:alice", once: request)
        }
        let stored = outcomes.filter { if case .stored = $0 { true } else { false } }
        let repeated = outcomes.filter { if case .repeated = $0 { true } else { false } }
        #expect(stored.count == 1)
        #expect(repeated.count == 7)
        #expect(Set(repeated).count == 1)
        #expect(try await self.page(after: nil, of: self.alice).entries.count == 1)
    }

    @Test func aRefusedPostLeavesItsIdempotencyKeyFree() async throws {
        let request = IdempotentRequest(key: Data(repeating: 1, count: 16), request: Data(repeating: 2, count: 16))
        let refused = try await self.atOnce(6) { [alice] number, server in
            try await server.post(Int64(number) + 1, from: alice, to: "username:nobody", once: request)
        }
        #expect(Set(refused) == [.unknownUser(try #require(Username("nobody")))])
        let outcome = try await self.first.post(9, from: self.alice, to: "username:alice", once: request)
        #expect(outcome == .stored(pushes: 0, hasWork: false))
    }

    @Test func simultaneousPostsRespectTheStorageLimit() async throws {
        let bounds = try #require(StorageBounds(devices: 100, notifications: 3, bytes: 1 << 20))
        let outcomes = try await self.atOnce(12) { [alice] number, server in
            try await server.post(Int64(number) + 1, from: alice, to: "username:bob", within: bounds)
        }
        #expect(outcomes.filter { $0 == .stored(pushes: 0, hasWork: false) }.count == 3)
        #expect(outcomes.filter { $0 == .tooMuch(.notifications) }.count == 9)
        #expect(try await self.page(after: nil, of: self.bob).entries.count == 3)
    }

    /// A reader continues at the end of its last page. It must miss no change that is committed
    /// later.
    @Test func changesAppearOnlyAfterThoseAlreadyRead() async throws {
        let count = 60
        let posted = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { [alice] in
                try await self.atOnce(count) { number, server in
                    try await server.post(Int64(number) + 1, from: alice, to: "username:alice", "username:bob")
                }.count
            }
            var (seen, start): (Set<NotificationID>, Int64) = ([], 0)
            let deadline = ContinuousClock.now + .seconds(60)
            while seen.count < count, ContinuousClock.now < deadline {
                let page = try await self.page(after: start, of: self.bob)
                #expect(seen.isDisjoint(with: page.entries.map(\.id)))
                seen.formUnion(page.entries.map(\.id))
                start = page.end
            }
            #expect(seen.count == count)
            return try await group.reduce(0, +)
        }
        #expect(posted == count)
    }

    /// All tasks post to the same users, mark the posted notifications as read, and dismiss half
    /// of them.
    @Test func aReaderOfAListSeesEachChangeOnce() async throws {
        let (count, now) = (40, self.first.now)
        let ids = try (1...Int64(count)).map { try self.id($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [alice, bob] in
                _ = try await self.atOnce(count) { number, server in
                    let id = ids[number]
                    _ = try await server.post(id.rawValue, from: alice, to: "username:alice", "username:bob")
                    _ = try await server.store.markRead([id], by: bob, now: now)
                    if number % 2 == 0 { _ = try await server.store.dismiss(id, by: bob.id, now: now) }
                }
            }
            func isDone(_ entry: NotificationPage.Entry) -> Bool {
                entry.id.rawValue % 2 == 0 ? entry.isRead : entry.isGone
            }
            var (last, start): ([NotificationID: NotificationPage.Entry], Int64) = ([:], 0)
            try await eventually {
                let page = try await self.page(after: start, of: self.bob)
                for entry in page.entries {
                    #expect((last[entry.id]?.change ?? 0) < entry.change)
                    last[entry.id] = entry
                }
                start = page.end
                return last.values.count(where: isDone) == count
            }
            try await group.waitForAll()
        }
    }

    // MARK: Payloads that may be read once

    @Test func aReadOncePayloadIsTakenByOneOfManyRequests() async throws {
        try await self.first.post(1, from: self.alice, to: "username:bob", isReadOnce: true)
        let (id, now) = (try self.id(1), self.first.now)
        let leases = try await self.atOnce(6) { [bob] _, server in
            try await server.store.lease(id, to: bob.id, until: now + 60, recording: nil, now: now)
        }
        #expect(leases.filter { $0 == .granted }.count == 1)
        #expect(leases.filter { $0 == .held }.count == 5)
        let taken = try await self.atOnce(6) { [bob] _, server in
            try await server.store.take(id, by: bob.id, recording: nil, now: now)
        }
        #expect(taken.filter { $0 == .taken }.count == 1)
        #expect(taken.filter { $0 == .takenBefore }.count == 5)
    }

    @Test func aPayloadIsErasedOnceBothRecipientsHaveTakenIt() async throws {
        let now = self.first.now
        for number in Int64(1)...10 {
            try await self.first.post(number, from: self.alice, to: "username:alice", "username:bob", isReadOnce: true)
            let (id, users) = (try self.id(number), [self.alice.id, self.bob.id])
            let taken = try await self.atOnce(2) { index, server in
                let user = users[index]
                _ = try await server.store.lease(id, to: user, until: now + 60, recording: nil, now: now)
                return try await server.store.take(id, by: user, recording: nil, now: now)
            }
            #expect(taken == [.taken, .taken])
        }
        // The limit allows only one payload, so the post succeeds only if the other payloads are
        // deleted.
        let room = "payload 11".utf8.count + Vault.overhead
        let bounds = try #require(StorageBounds(devices: 100, notifications: 100, bytes: room))
        let outcome = try await self.first.post(11, from: self.alice, to: "username:bob", within: bounds)
        #expect(outcome == .stored(pushes: 0, hasWork: false))
    }

    // MARK: Recalls and deletions

    @Test func aRecallReachesEachRecipientOnce() async throws {
        var users: [User] = []
        for number in 0..<12 { users.append(try await self.first.addUser("user\(number)")) }
        for user in users { try await self.first.addDevice(of: user, handle: "d-\(user.id)", tags: ["news"]) }
        try await self.first.post(1, from: self.alice, to: "news")
        var ends: [Int64: Int64] = [:]
        for user in users { ends[user.id] = try await self.page(after: nil, of: user).end }
        let (id, now) = (try self.id(1), self.first.now)
        let recalled = try await self.atOnce(4) { _, server in
            try await server.store.recall(id, by: .administrator, recording: nil, page: 5, now: now)
        }
        #expect(recalled.filter(\.self).count == 1)
        while let devices = try await self.first.store.expandFanout(now: now) { #expect(devices == 0) }
        for user in users {
            #expect(try await self.page(after: ends[user.id], of: user).entries.map(\.isGone) == [true])
        }
    }

    @Test func twoServersDeleteExpiredNotifications() async throws {
        for number in Int64(1)...20 {
            try await self.first.post(number, from: self.alice, to: "username:bob", expiresIn: 10)
        }
        let end = self.first.now + 10
        _ = try await self.atOnce(4) { _, server in
            while try await server.store.deleteExpired(now: end, page: 3) {}
        }
        // A cleanup skips rows that another server is deleting, so one more cleanup must find no
        // rows left.
        while try await self.first.store.deleteExpired(now: end, page: 3) {}
        let bounds = try #require(StorageBounds(devices: 100, notifications: 1, bytes: 1 << 20))
        let outcome = try await self.first.post(21, from: self.alice, to: "username:bob", within: bounds)
        #expect(outcome == .stored(pushes: 0, hasWork: false))
    }
}
