import PushCore
import PushStore
import PushTesting
import Testing

/// A user is deleted in several transactions, so that posts do not wait for all of the user's
/// notifications.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct UserDeletionTests {
    private let fixture: StoreFixture
    private let alice: User
    private let bob: User

    init() async throws {
        var options = StoreOptions()
        options.streamLanes = ["stream"]
        self.fixture = try StoreFixture(options: options)
        (self.alice, self.bob) = (try await self.fixture.addUser("alice"), try await self.fixture.addUser("bob"))
    }

    private func deleteAlice(page: Int) async throws -> UserChange? {
        try await self.fixture.store.deleteUser(self.alice.name, page: page, by: nil, now: self.fixture.now)
    }

    /// Pushes to an event stream that is not open are in no index of pushes.
    @Test(arguments: ["apns", "stream"])
    func aTransactionDeletesAPageOfNotificationsAndEndsTheirPushes(platform: String) async throws {
        try await self.fixture.addDevice(of: self.alice, platform: platform, handle: "a")
        try await self.fixture.addDevice(of: self.bob, platform: "fcm", handle: "b")
        for number: Int64 in 1...5 {
            try await self.fixture.post(number, from: self.bob, to: "username:alice", "username:bob")
        }
        for ended in [2, 4] {
            #expect(try await self.deleteAlice(page: 2) == nil)
            #expect(try await self.fixture.reader.tallies()[platform]?.cancelled == ended)
            #expect(try await self.fixture.user("alice") == self.alice)
        }
        #expect(try await self.deleteAlice(page: 2) == .done)
        #expect(try await self.deleteAlice(page: 2) == .missing)
        #expect(try await self.fixture.reader.tallies()[platform]?.cancelled == 5)
        #expect(try await self.fixture.reader.tallies()[platform]?.pending == 0)
        for number: Int64 in 1...5 {
            let id = try #require(NotificationID(rawValue: number))
            let recipients = try await self.fixture.reader.recipients(of: id, after: 0, limit: 9)
            #expect(recipients.map(\.username) == [self.bob.name])
        }
        #expect(try await self.fixture.lease("fcm").count == 5)
    }

    @Test func theFirstTransactionErasesPayloadsThatOnlyTheUserHasNotFetched() async throws {
        for number: Int64 in 1...2 {
            try await self.fixture.post(number, from: self.bob, to: "username:alice", isReadOnce: true)
        }
        #expect(try await self.deleteAlice(page: 1) == nil)
        // One of the two payloads is left: a limit of one payload allows no other, a limit of two
        // does.
        let size = "payload 3".utf8.count + Vault.overhead
        for (payloads, isRoom) in [(1, false), (2, true)] {
            let bounds = try #require(StorageBounds(devices: 100, notifications: 100, bytes: payloads * size))
            let outcome = try await self.fixture.post(3, from: self.bob, to: "username:bob", within: bounds)
            if case .stored = outcome { #expect(isRoom) } else { #expect(!isRoom) }
        }
    }
}
