import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The storage limits of one user.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct StorageBoundsTests {
    private let fixture: StoreFixture
    private let alice: User
    /// The stored length of a payload of 9 bytes, including the overhead of its encryption.
    private static let length = 9 + Vault.overhead

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    private func bounds(devices: Int = 100, notifications: Int = 100, bytes: Int = 1 << 20) throws -> StorageBounds {
        try #require(StorageBounds(devices: devices, notifications: notifications, bytes: bytes))
    }

    @discardableResult
    private func post(
        _ number: Int64,
        within bounds: StorageBounds,
        isReadOnce: Bool = false,
        expiresIn: TimeInterval = 3600
    ) async throws -> PostOutcome {
        try await fixture.post(
            number,
            from: alice,
            to: "username:alice",
            isReadOnce: isReadOnce,
            within: bounds,
            expiresIn: expiresIn
        )
    }

    // MARK: Notifications and bytes

    @Test func notificationAboveTheLimitIsRefusedUntilOneExpires() async throws {
        let bounds = try self.bounds(notifications: 2)
        #expect(try await self.post(1, within: bounds, expiresIn: 10) == .stored(pushes: 0, hasWork: false))
        #expect(try await self.post(2, within: bounds) == .stored(pushes: 0, hasWork: false))
        #expect(try await self.post(3, within: bounds) == .tooMuch(.notifications))
        // The row of a recalled notification still counts until it expires: recipients who have
        // seen the notification must learn of the recall.
        let first = try #require(NotificationID(rawValue: 1))
        #expect(try await fixture.store.recall(first, by: .sender(alice.id), now: fixture.now))
        #expect(try await self.post(3, within: bounds) == .tooMuch(.notifications))
        while try await fixture.store.deleteExpired(now: fixture.now + 10, page: 10) {}
        #expect(try await self.post(3, within: bounds) == .stored(pushes: 0, hasWork: false))
    }

    @Test func byteAboveTheLimitIsRefusedUntilAPayloadIsErased() async throws {
        let bounds = try self.bounds(bytes: 2 * Self.length)
        #expect(try await self.post(1, within: bounds) == .stored(pushes: 0, hasWork: false))
        #expect(try await self.post(2, within: bounds, isReadOnce: true) == .stored(pushes: 0, hasWork: false))
        #expect(try await self.post(3, within: self.bounds(bytes: 3 * Self.length - 1)) == .tooMuch(.bytes))
        #expect(try await self.post(3, within: bounds) == .tooMuch(.bytes))
        let second = try #require(NotificationID(rawValue: 2))
        #expect(try await fixture.store.take(second, by: alice.id, now: fixture.now))
        #expect(try await self.post(3, within: bounds) == .stored(pushes: 0, hasWork: false))
        let first = try #require(NotificationID(rawValue: 1))
        #expect(try await fixture.store.recall(first, by: .administrator, now: fixture.now))
        #expect(try await self.post(4, within: bounds) == .stored(pushes: 0, hasWork: false))
    }

    @Test func limitsAreCountedPerUser() async throws {
        let bounds = try self.bounds(notifications: 1)
        let bob = try await fixture.addUser("bob")
        #expect(try await self.post(1, within: bounds) == .stored(pushes: 0, hasWork: false))
        #expect(
            try await fixture.post(2, from: bob, to: "username:alice", within: bounds)
                == .stored(pushes: 0, hasWork: false)
        )
        #expect(try await self.post(3, within: bounds) == .tooMuch(.notifications))
    }

    @Test func repeatedRequestIsAnsweredAtTheLimit() async throws {
        let bounds = try self.bounds(notifications: 1)
        let request = IdempotentRequest(key: Data(repeating: 1, count: 16), request: Data(repeating: 2, count: 16))
        #expect(
            try await fixture.post(1, from: alice, to: "username:alice", once: request, within: bounds)
                == .stored(pushes: 0, hasWork: false)
        )
        guard
            case .repeated = try await fixture.post(2, from: alice, to: "username:alice", once: request, within: bounds)
        else {
            Issue.record("it is not the same request")
            return
        }
    }

    // MARK: Devices

    private func register(_ id: String, _ handle: String, within bounds: StorageBounds) async throws
        -> RegisterOutcome
    {
        try await fixture.register(id, handle: handle, of: alice, within: bounds)
    }

    @Test func newDeviceAboveTheLimitIsRefused() async throws {
        let bounds = try self.bounds(devices: 2)
        #expect(try await self.register("one", "aa", within: bounds) == .registered(moved: 0))
        #expect(try await self.register("two", "bb", within: bounds) == .registered(moved: 0))
        #expect(try await self.register("three", "cc", within: bounds) == .tooMany)
        #expect(try await self.register("two", "cc", within: bounds) == .registered(moved: 0))
        // The new registration replaces the user's earlier registration with the same handle, so
        // the number of devices stays the same.
        #expect(try await self.register("three", "cc", within: bounds) == .registered(moved: 0))
        #expect(try await self.register("four", "dd", within: bounds) == .tooMany)
        #expect(try await fixture.store.unregister(#require(RegistrationID("one")), ofUser: alice.id))
        #expect(try await self.register("four", "dd", within: bounds) == .registered(moved: 0))
    }
}
