import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The number of a user's unread notifications. Pushes of some platforms contain this number.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct UnreadCountTests {
    private let fixture: StoreFixture
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        try await self.fixture.addDevice(of: self.alice, handle: "one")
    }

    private func lease(countsUnread: Bool = true) async throws -> [Int64: Int?] {
        let request = LeaseRequest(100, from: Lane(Platform("apns")), .direct, countsUnread: countsUnread)
        let leased = try await self.fixture.store.lease(request, now: self.fixture.now)
        return Dictionary(uniqueKeysWithValues: leased.map { ($0.push.notification.rawValue, $0.push.unread) })
    }

    @Test func aPushHasTheNumberOfItsUsersUnreadNotifications() async throws {
        let bob = try await self.fixture.addUser("bob")
        let (store, now) = (self.fixture.store, self.fixture.now)
        for number: Int64 in 1...4 { try await self.fixture.post(number, from: bob, to: "username:alice") }
        try await self.fixture.post(5, from: bob, to: "username:alice", expiresIn: 1)
        try await self.fixture.post(6, from: bob, to: "username:bob")
        let ids = (1...4).compactMap { NotificationID(rawValue: $0) }
        _ = try await store.mark(ids[0], as: .read, by: self.alice.id, ifStill: nil, now: now)
        _ = try await store.dismiss(ids[1], by: self.alice.id, ifStill: nil, recording: nil, now: now)
        _ = try await store.recall(ids[2], by: .sender(bob.id), now: now)
        self.fixture.clock.advance(by: 2)
        try await self.fixture.post(7, from: bob, to: "username:alice")
        #expect(try await self.lease() == [1: 2, 4: 2, 7: 2])
    }

    @Test func aPushOfAnotherLaneHasNone() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        #expect(try await self.lease(countsUnread: false) == [1: nil])
    }
}
