import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The looks for recalls: pushes that tell the recipients' devices to sync.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct RecallLookTests {
    private let fixture: StoreFixture
    private let users: [User]

    /// Makes users `user1` to `user5`, each with a device of the same name.
    init() async throws {
        self.fixture = try StoreFixture(options: Self.options())
        var users: [User] = []
        for number in 1...5 {
            users.append(try await self.fixture.addUser("user\(number)", role: .publisher))
            try await self.fixture.addDevice(of: users[number - 1], handle: "user\(number)", tags: ["all"])
        }
        self.users = users
    }

    private static func options(_ lane: String = "apns") -> StoreOptions {
        var options = StoreOptions()
        options.looks = [lane: .seconds(10)]
        return options
    }

    private func recall(_ number: Int64, page: Int? = nil, in fixture: StoreFixture? = nil) async throws {
        let fixture = fixture ?? self.fixture
        let id = try #require(NotificationID(rawValue: number))
        let sender = Recaller.sender(self.users[0].id)
        #expect(try await fixture.store.recall(id, by: sender, recording: nil, page: page, now: fixture.now))
    }

    /// Enqueues the next page of looks; returns their number.
    private func enqueue(page: Int, in fixture: StoreFixture? = nil) async throws -> Int? {
        let fixture = fixture ?? self.fixture
        return try await fixture.store.enqueueRecallLooks(
            page: page,
            makeID: { NotificationID(rawValue: .random(in: 1000..<1 << 31)) },
            now: fixture.now
        )
    }

    /// The handles of the devices with a waiting look.
    private func looking(_ fixture: StoreFixture? = nil) async throws -> [String] {
        let fixture = fixture ?? self.fixture
        let request = LeaseRequest(100, from: Lane(stored: "apns/look"), .direct)
        return try await fixture.store.lease(request, now: fixture.now).map(\.push.handle).sorted()
    }

    /// With `page: 1`, the recall does not change the rows of all recipients at once.
    @Test(arguments: [nil, 1]) func theNextProcessContinuesAfterTheLastPage(page: Int?) async throws {
        try await self.fixture.post(1, from: self.users[0], to: "all")
        try await self.recall(1, page: page)
        #expect(try await self.enqueue(page: 2) == 2)
        await self.fixture.store.close()
        let next = try self.fixture.reopened(options: Self.options())
        #expect(try await self.enqueue(page: 2, in: next) == 2)
        #expect(try await self.enqueue(page: 2, in: next) == 1)
        #expect(try await self.enqueue(page: 2, in: next) == nil)
        #expect(try await self.looking(next) == ["user1", "user2", "user3", "user4", "user5"])
        await next.store.close()
    }

    @Test func aUserWhoHasDismissedTheNotificationGetsNoLook() async throws {
        try await self.fixture.post(1, from: self.users[0], to: "all")
        let (id, now) = (try #require(NotificationID(rawValue: 1)), self.fixture.now)
        for user in self.users[1...2] {
            _ = try await self.fixture.store.dismiss(id, by: user.id, ifStill: nil, recording: nil, now: now)
        }
        try await self.recall(1)
        while try await self.enqueue(page: 2) != nil {}
        #expect(try await self.looking() == ["user1", "user4", "user5"])
    }

    @Test func aNewRecallDoesNotWaitForTheLooksOfABroadcast() async throws {
        try await self.fixture.post(1, from: self.users[0], to: "all")
        try await self.recall(1)
        #expect(try await self.enqueue(page: 1) == 1)
        try await self.fixture.post(2, from: self.users[0], to: "username:user4")
        try await self.recall(2)
        #expect(try await self.enqueue(page: 1) == 1)
        #expect(try await self.looking() == ["user1", "user4"])
    }

    @Test func aRecallInAnAppWithoutLooksLeavesNoWork() async throws {
        await self.fixture.store.close()
        let other = try self.fixture.reopened(options: Self.options("bank:apns"))
        try await other.post(1, from: self.users[0], to: "all")
        try await self.recall(1, in: other)
        #expect(try await self.enqueue(page: 1, in: other) == nil)
        await other.store.close()
    }

    @Test func aLaneWithoutASenderLosesItsWaitingLooks() async throws {
        try await self.fixture.post(1, from: self.users[0], to: "all")
        try await self.recall(1)
        #expect(try await self.enqueue(page: 9) == 5)
        let (store, now, lane) = (self.fixture.store, self.fixture.now, Lane(stored: "apns/look"))
        // A push that is being sent stays.
        #expect(try await store.lease(LeaseRequest(1, from: lane, .direct), now: now).count == 1)
        #expect(try await !store.deleteLooks(in: Lane(stored: "fcm/look"), now: now))
        #expect(try await store.deleteLooks(in: lane, now: now))
        #expect(try await !store.deleteLooks(in: lane, now: now))
        let tally = try #require(try await self.fixture.reader.tallies()["apns/look"])
        #expect(tally.cancelled == 4 && tally.pending == 1)
        // The next change makes a new look.
        try await self.fixture.post(2, from: self.users[0], to: "username:user5")
        try await self.recall(2)
        #expect(try await self.enqueue(page: 9) == 1)
    }
}
