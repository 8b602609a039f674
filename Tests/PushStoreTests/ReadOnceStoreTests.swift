import PushCore
import PushStore
import PushTesting
import Testing

/// Read-once payloads, which the store erases when all recipients have taken them.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct ReadOnceStoreTests {
    private let fixture: StoreFixture
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    private func id(_ number: Int64) throws -> NotificationID {
        try #require(NotificationID(rawValue: number))
    }

    private func take(_ id: NotificationID, _ user: User) async throws -> Bool {
        try await self.fixture.store.take(id, by: user.id, now: self.fixture.now)
    }

    /// Returns whether none of alice's payloads is stored. Tests this by a post with a limit that
    /// allows only one payload.
    private func isErased() async throws -> Bool {
        let room = "payload 99".utf8.count + Vault.overhead
        let bounds = try #require(StorageBounds(devices: 100, notifications: 100, bytes: room))
        switch try await self.fixture.post(99, from: self.alice, to: "username:alice", within: bounds) {
        case .stored: return true
        case .tooMuch(.bytes): return false
        case let outcome: throw StoreFixture.Missing("an answer to the question, not \(outcome)")
        }
    }

    @Test func payloadTakenByAllIsErasedWhenTheFanoutEnds() async throws {
        for number in 0..<6 {
            try await self.fixture.addDevice(of: self.alice, handle: "d-\(number)", tags: ["news"])
        }
        try await self.fixture.post(1, from: self.alice, to: "news", isReadOnce: true, page: 2)
        #expect(try await self.take(try self.id(1), self.alice))
        #expect(try await !self.isErased())
        while try await self.fixture.store.expandFanout(page: 2, now: self.fixture.now) != nil {}
        #expect(try await self.isErased())
    }

    @Test func readOncePayloadStaysDuringItsFanout() async throws {
        var users: [User] = []
        for number in 0..<6 {
            users.append(try await self.fixture.addUser("user\(number)"))
            try await self.fixture.addDevice(of: users[number], handle: "d-\(number)", tags: ["news"])
        }
        // The second device of the first user is on a later page of the fan-out, so the user is
        // found twice.
        try await self.fixture.addDevice(of: users[0], handle: "d-again", tags: ["news"])
        try await self.fixture.post(1, from: self.alice, to: "news", isReadOnce: true, page: 3)
        let id = try self.id(1)
        for user in users.prefix(3) { #expect(try await self.take(id, user)) }
        while try await self.fixture.store.expandFanout(page: 3, now: self.fixture.now) != nil {}
        #expect(try await !self.take(id, users[0]), "not twice, however late another device is reached")
        for user in users.suffix(3) { #expect(try await self.take(id, user)) }
        #expect(try await self.isErased())
    }

    @Test func dismissingCountsAsTakingForTheErasure() async throws {
        let bob = try await self.fixture.addUser("bob")
        try await self.fixture.post(1, from: self.alice, to: "username:alice", "username:bob", isReadOnce: true)
        let id = try self.id(1)
        #expect(try await self.fixture.store.dismiss(id, by: bob.id, now: self.fixture.now))
        #expect(try await !self.take(id, bob))
        #expect(try await !self.isErased())
        #expect(try await self.take(id, self.alice))
        #expect(try await self.isErased())
    }

    @Test func ordinaryPayloadIsNotTaken() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        let id = try self.id(1)
        #expect(try await !self.take(id, self.alice))
        let (reader, now) = (self.fixture.reader, self.fixture.now)
        #expect(try await reader.notification(id, for: self.alice.id, alsoAsSender: false, now: now) != nil)
    }

    @Test func takenPayloadIsNotPushedToOtherDevices() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.fixture.post(1, from: self.alice, to: "username:alice", isReadOnce: true)
        #expect(try await self.take(try self.id(1), self.alice))
        #expect(try await self.fixture.lease().isEmpty)
        #expect(try await self.fixture.reader.tallies()["apns"]?.cancelled == 1)
    }
}
