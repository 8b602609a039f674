import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

/// Devices and the sessions in which they were registered, with several servers on one database.
@Suite(.timeLimit(.minutes(5))) struct DeviceSessionRowTests {
    private let fixture: StoreFixture
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture(.postgreSQL)
        self.alice = try await self.fixture.addUser("alice")
    }

    private func addSession() async throws -> BearerToken {
        let now = self.fixture.now
        let store = self.fixture.store
        return try #require(
            try await store.addSession(for: self.alice, scopes: .all, expiresAt: now + 1000, now: now)
        ).token
    }

    private func register(_ id: String, with token: BearerToken, _ store: any Store) async throws -> RegisterOutcome {
        try await self.fixture.issue(id, to: self.alice)
        let platform = Platform("apns")
        let registration = DeviceRegistration(
            platform: platform,
            lane: Lane(platform),
            handle: try #require(DeviceHandle(id)),
            tags: []
        )
        return try await store.register(
            registration,
            as: #require(RegistrationID(id)),
            for: self.alice,
            with: token.prefix,
            now: self.fixture.now
        )
    }

    private func devices() async throws -> Int {
        try await self.fixture.reader.devices(ofUser: self.alice.id).count
    }

    /// An older server knows nothing of devices' sessions. When it registers a device again, the
    /// row keeps its earlier session, which must not count.
    @Test func aDeviceRegisteredByAnOlderServerHasNoSession() async throws {
        let session = try await self.addSession()
        #expect(try await self.register("phone", with: session, self.fixture.store) == .registered(moved: 0))
        let connection = try self.fixture.connect()
        try connection.execute("update device set registered_at = registered_at + 1 where session is not null")
        #expect(try await self.fixture.store.revokeToken(session.prefix) == session.fingerprint)
        #expect(try await self.devices() == 1)
    }

    @Test func noDeviceOutlivesASessionThatEndsOnAnotherServer() async throws {
        let other = try self.fixture.reopened().store
        let outcomes = try await withThrowingTaskGroup(of: RegisterOutcome?.self) { group in
            for number in 0..<20 {
                let session = try await self.addSession()
                let stores = number.isMultiple(of: 2) ? [self.fixture.store, other] : [other, self.fixture.store]
                group.addTask { try await self.register("phone\(number)", with: session, stores[0]) }
                group.addTask {
                    let ended = try await stores[1].revokeToken(session.prefix)
                    #expect(ended == session.fingerprint)
                    return nil
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }.compactMap(\.self)
        }
        #expect(outcomes.count == 20)
        #expect(outcomes.allSatisfy { $0 == .signedOut || $0 == .registered(moved: 0) }, "\(outcomes)")
        #expect(try await self.devices() == 0)
    }
}
