import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@Suite(.eachStore, .timeLimit(.minutes(5))) struct NotificationStoreTests {
    private let fixture: StoreFixture
    private var store: any Store { self.fixture.store }

    init() throws {
        self.fixture = try StoreFixture()
    }

    private func fetch(_ id: Int64, as user: User, alsoAsSender: Bool = false) async throws -> StoredNotification? {
        let id = try #require(NotificationID(rawValue: id))
        return try await self.fixture.reader.notification(
            id,
            for: user.id,
            alsoAsSender: alsoAsSender,
            now: self.fixture.now
        )
    }

    private func lease(_ platform: String) async throws -> [LeasedDelivery] {
        try await self.fixture.lease(platform)
    }

    @Test func onlyRecipientsAndTheSenderFetchANotification() async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        try await fixture.post(7, from: alice, to: "username:bob")
        let sealed = try await #require(try self.fetch(7, as: bob)?.sealedPayload)
        let place = SealedPlace.payload(try #require(NotificationID(rawValue: 7)), sender: alice.id)
        #expect(try fixture.store.vault.open(sealed, in: place) == Data("payload 7".utf8))
        #expect(try await self.fetch(7, as: alice) == nil)
        #expect(try await self.fetch(7, as: alice, alsoAsSender: true)?.isRecipient == false)
        let carol = try await fixture.addUser("carol")
        #expect(try await self.fetch(7, as: carol, alsoAsSender: true) == nil)
    }

    @Test func notificationIsThereUntilItExpires() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.post(7, from: alice, to: "username:alice", expiresIn: 60)
        fixture.clock.advance(by: 59.999)
        #expect(try await self.fetch(7, as: alice) != nil)
        fixture.clock.advance(by: 0.001)
        #expect(try await self.fetch(7, as: alice) == nil)
    }

    @Test func anIDInUseIsNotGivenOutAgain() async throws {
        let alice = try await fixture.addUser("alice")
        #expect(try await fixture.post(7, from: alice, to: "username:alice") == .stored(pushes: 0, hasWork: false))
        #expect(try await fixture.post(7, from: alice, to: "username:alice") == .idTaken)
    }

    @Test func anUnknownUserLeavesNothingBehind() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abc")
        let outcome = try await fixture.post(7, from: alice, to: "username:alice", "username:nobody")
        #expect(outcome == .unknownUser(try #require(Username("nobody"))))
        #expect(try await self.fetch(7, as: alice) == nil)
        #expect(try await self.lease("apns").isEmpty)
    }

    @Test func aTagExpressionFindsItsDevicesAndTheirUsers() async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        try await fixture.addDevice(of: alice, handle: "a1", tags: ["news"])
        try await fixture.addDevice(of: alice, platform: "fcm", handle: "a2", tags: ["news", "beta"])
        try await fixture.addDevice(of: bob, handle: "b1", tags: ["News", "beta"])
        #expect(try await fixture.post(1, from: alice, to: "news && !beta") == .stored(pushes: 1))
        #expect(try await fixture.post(2, from: alice, to: "NEWS") == .stored(Reach(recipients: 2, pushes: 3)))
        #expect(try await fixture.post(3, from: alice, to: "news && (username:bob || sport)") == .stored(pushes: 1))
        #expect(try await fixture.post(4, from: alice, to: "news", platforms: ["fcm"]) == .stored(pushes: 1))
        let nobody = PostOutcome.stored(Reach(recipients: 0, pushes: 0), hasWork: false)
        #expect(try await fixture.post(5, from: alice, to: "sport") == nobody)
        #expect(try await self.fetch(1, as: bob) == nil)
        #expect(try await self.fetch(3, as: bob) != nil)
        #expect(try await self.lease("fcm").map(\.push.notification.rawValue).sorted() == [2, 4])
    }

    @Test func aDeviceNamedByTwoExpressionsIsPushedOnce() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "a1", tags: ["news"])
        #expect(try await fixture.post(1, from: alice, to: "news", "username:alice") == .stored(pushes: 1))
    }

    @Test func readOncePayloadIsErasedAfterItsLastRecipient() async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        try await fixture.post(9, from: alice, to: "username:alice", "username:bob", isReadOnce: true)
        let sealed = Data(try await #require(try self.fetch(9, as: bob)?.sealedPayload))
        let id = try #require(NotificationID(rawValue: 9))
        #expect(try await store.take(id, by: alice.id, now: fixture.now))
        #expect(try await !store.take(id, by: alice.id, now: fixture.now))
        #expect(try await self.fetch(9, as: bob) != nil)
        #expect(try await store.take(id, by: bob.id, now: fixture.now))
        #expect(try await self.fetch(9, as: alice, alsoAsSender: true) == nil)
        await store.close()
        #expect(try fixture.remains().range(of: sealed) == nil)
    }

    @Test func expiredNotificationIsDeletedWithItsRows() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "a1")
        for number in Int64(1)...3 { try await fixture.post(number, from: alice, to: "username:alice", expiresIn: 60) }
        try await fixture.post(4, from: alice, to: "username:alice", expiresIn: 61)
        var sealed: [Data] = []
        for number in Int64(1)...4 {
            sealed.append(Data(try #require(try await self.fetch(number, as: alice)?.sealedPayload)))
        }
        fixture.clock.advance(by: 60)
        while try await store.deleteExpired(now: fixture.now, page: 2) {}
        #expect(try await self.lease("apns").map(\.push.notification.rawValue) == [4])
        #expect(try await self.fetch(4, as: alice) != nil)
        await store.close()
        let bytes = try fixture.remains()
        #expect(sealed.map { bytes.range(of: $0) != nil } == [false, false, false, true])
    }

    @Test func theFirstFetchIsTheReceipt() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.post(9, from: alice, to: "username:alice")
        let id = try #require(NotificationID(rawValue: 9))
        let first = fixture.now
        store.recordFetch(of: id, by: alice.id, now: first)
        store.recordFetch(of: id, by: alice.id, now: first + 5)
        await store.close()
        let next = try fixture.reopened()
        let stored = try await next.reader.notification(id, for: alice.id, alsoAsSender: false, now: first)
        #expect(stored?.fetchedAt == first)
        await next.store.close()
    }
}
