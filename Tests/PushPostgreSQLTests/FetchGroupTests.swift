import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// Simultaneous fetches of many callers. The store makes one query for several fetches.
@Suite(.timeLimit(.minutes(5))) struct FetchGroupTests {
    private let fixture: StoreFixture
    private let store: PostgreSQLStore

    init() throws {
        self.fixture = try StoreFixture(.postgreSQL)
        self.store = try #require(self.fixture.store as? PostgreSQLStore)
    }

    private struct Fetch: Hashable {
        let id: Int64
        let user: Int64
        let alsoAsSender: Bool
    }

    private func payload(_ fetch: Fetch) async throws -> String? {
        let id = try #require(NotificationID(rawValue: fetch.id))
        let (user, isSender, now) = (fetch.user, fetch.alsoAsSender, self.fixture.now)
        while true {
            do {
                let found = try await self.fixture.reader.notification(id, for: user, alsoAsSender: isSender, now: now)
                return try found.map {
                    let payload = try self.store.vault.open($0.sealedPayload, in: .payload(id, sender: $0.sender))
                    return String(decoding: payload, as: UTF8.self)
                }
            } catch StoreError.busy {
                // On a slow machine, the group before may take longer than a fetch may wait.
            }
        }
    }

    /// Runs `body` for all fetches while a lock blocks reads. The fetches then wait, and the store
    /// reads for several of them in one query.
    private func together<Value: Sendable>(
        _ fetches: [Fetch],
        _ body: @escaping @Sendable (Fetch) async throws -> Value
    ) async throws -> [Fetch: Value] {
        let lock = try self.fixture.lock("notification")
        return try await withThrowingTaskGroup(of: (Fetch, Value).self) { group in
            for fetch in fetches { group.addTask { (fetch, try await body(fetch)) } }
            try await eventually { self.store.fetches.waiting == fetches.count - GroupLimits.fetches.groups }
            try lock.release()
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    @Test func eachCallerGetsOnlyItsOwnNotifications() async throws {
        let sender = try await self.fixture.addUser("sender", role: .publisher)
        var users: [User] = []
        for number in 0..<4 { users.append(try await self.fixture.addUser("user\(number)")) }
        let numbers = Int64(1)...30
        for number in numbers {
            _ = try await self.fixture.post(number, from: sender, to: "username:user\(number % 4)")
        }
        let fetches =
            numbers.flatMap { number in
                (users + [sender]).flatMap { user in
                    [true, false].map { Fetch(id: number, user: user.id, alsoAsSender: $0) }
                }
            } + [Fetch(id: 1000, user: sender.id, alsoAsSender: true)]
        let found = try await self.together(fetches) { try await self.payload($0) }
        #expect(found.count == fetches.count)
        for (fetch, payload) in found {
            let isTheirs =
                numbers.contains(fetch.id)
                && (fetch.user == users[Int(fetch.id % 4)].id || fetch.user == sender.id && fetch.alsoAsSender)
            #expect(payload == (isTheirs ? "payload \(fetch.id)" : nil), "\(fetch)")
        }
        #expect(self.store.fetches.waiting == 0)
    }

    /// Only the fetch of a damaged row fails.
    @Test func aDamagedRowFailsOneCallerOnly() async throws {
        let sender = try await self.fixture.addUser("sender", role: .publisher)
        for number in Int64(1)...20 { _ = try await self.fixture.post(number, from: sender, to: "username:sender") }
        try BlockingConnection(self.store.address).execute(
            "update recipient set mac = mac + 1 where notification_id = 7"
        )
        let fetches = (Int64(1)...20).map { Fetch(id: $0, user: sender.id, alsoAsSender: false) }
        let failed = try await self.together(fetches) { fetch in
            do {
                return try await self.payload(fetch) == nil
            } catch StoreError.damaged {
                return true
            }
        }
        #expect(failed.filter(\.value).keys.map(\.id) == [7])
    }
}
