import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@Suite(.eachStore, .timeLimit(.minutes(5))) struct IdempotencyStoreTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    private func post(_ number: Int64, from user: User, once request: IdempotentRequest) async throws
        -> PostOutcome
    {
        let id = try #require(NotificationID(rawValue: number))
        let notification = NewNotification(
            id: id,
            sender: user.id,
            sealedPayload: try self.fixture.store.vault.seal(Data(), in: .payload(id, sender: user.id)),
            audience: self.fixture.store.hashed(Audience([.tag(Tag(of: user.name))])),
            createdAt: self.fixture.now,
            expiresAt: self.fixture.now + 60,
            options: NotificationOptions { $0.request = request }
        )
        return try await self.fixture.store.post(notification)
    }

    private func request(_ key: UInt8, _ request: UInt8 = 0) -> IdempotentRequest {
        IdempotentRequest(key: Data(repeating: key, count: 16), request: Data(repeating: request, count: 16))
    }

    /// A client may use an idempotency key again after a day, even if cleanup has not deleted its
    /// row yet.
    @Test func keyIsFreeAfterADay() async throws {
        let alice = try await self.fixture.addUser("alice")
        let stored = PostOutcome.stored(pushes: 0, hasWork: false)
        #expect(try await self.post(1, from: alice, once: self.request(1)) == stored)
        self.fixture.clock.advance(by: IdempotentRequest.lifetime + 1)
        #expect(try await self.post(2, from: alice, once: self.request(1, 7)) == stored)
        #expect(try await self.post(3, from: alice, once: self.request(1)) == .keyReused)
    }

    @Test func sameRequestIsRepeatedAndAnotherIsRefused() async throws {
        let alice = try await self.fixture.addUser("alice")
        let start = self.fixture.now
        #expect(try await self.post(1, from: alice, once: self.request(1)) == .stored(pushes: 0, hasWork: false))
        self.fixture.clock.advance(by: 60)
        let first = try #require(NotificationID(rawValue: 1))
        let repeated = PostOutcome.repeated(
            first,
            createdAt: start,
            expiresAt: start + 60,
            reach: Reach(recipients: 1, pushes: 0)
        )
        #expect(try await self.post(2, from: alice, once: self.request(1)) == repeated)
        #expect(try await self.post(3, from: alice, once: self.request(1, 7)) == .keyReused)
        for (number, isStored) in [(1, true), (2, false), (3, false)] as [(Int64, Bool)] {
            let id = try #require(NotificationID(rawValue: number))
            let found = try await self.fixture.reader.notification(id, for: alice.id, alsoAsSender: true, now: start)
            #expect((found != nil) == isStored)
        }
    }

    @Test func idempotencyKeysAreDeletedAfterADay() async throws {
        let alice = try await self.fixture.addUser("alice")
        for number in 1...5 { _ = try await self.post(Int64(number), from: alice, once: self.request(UInt8(number))) }
        let delete = { try await self.fixture.store.deleteExpiredIdempotency(now: self.fixture.now, limit: 3) }
        self.fixture.clock.advance(by: 86_399)
        #expect(try await delete() == 0)
        self.fixture.clock.advance(by: 1)
        #expect(try await delete() == 3)
        #expect(try await delete() == 2)
        #expect(try await delete() == 0)
    }

}
