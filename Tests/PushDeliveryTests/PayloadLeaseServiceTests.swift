import Foundation
import Logging
import PushCore
import PushDelivery
import PushStore
import PushTesting
import ServiceLifecycle
import Testing

/// The service erases a read-once payload when its lease ends. During the lease, the recipient may
/// fetch the payload again.
@Suite(.timeLimit(.minutes(5))) struct PayloadLeaseServiceTests {
    private let fixture: StoreFixture
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    /// Posts `count` notifications and leases them until `end`. Returns their ids.
    private func lease(_ count: Int64, until end: Date) async throws -> [NotificationID] {
        let ids = (1...count).compactMap(NotificationID.init)
        for id in ids {
            try await self.fixture.post(id.rawValue, from: self.alice, to: "username:alice", isReadOnce: true)
            let lease = try await self.fixture.store.lease(
                id,
                to: self.alice.id,
                until: end,
                recording: nil,
                now: self.fixture.now
            )
            #expect(lease == .granted)
        }
        return ids
    }

    private func areErased(_ ids: [NotificationID]) async throws -> Bool {
        for id in ids {
            let outcome = try await self.fixture.store.take(
                id,
                by: self.alice.id,
                recording: nil,
                now: self.fixture.now
            )
            if outcome != .takenBefore { return false }
        }
        return true
    }

    /// Runs the service while `body` runs.
    private func run(now: @escaping @Sendable () -> Date, _ body: () async throws -> Void) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let service = PayloadLeaseService(store: self.fixture.store, logger: logger, now: now)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let services = ServiceGroup(
                configuration: .init(services: [.init(service: Runner(service: service))], logger: logger)
            )
            group.addTask { try await services.run() }
            let result: Result<Void, any Error>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            await services.triggerGracefulShutdown()
            try await group.waitForAll()
            try result.get()
        }
    }

    private struct Runner: Service {
        let service: PayloadLeaseService

        func run() async throws {
            try await self.service.run()
        }
    }

    /// There are more payloads than the store erases in one transaction.
    @Test func payloadsOfLeasesThatEndedDuringDowntimeAreErased() async throws {
        let ids = try await self.lease(600, until: self.fixture.now + 60)
        let now = self.fixture.now + 60
        let waiting = try await self.waiting()
        #expect(waiting == 600)
        try await self.run(now: { now }) {
            try await eventually { try await self.waiting() == 0 }
        }
        #expect(try await self.areErased(ids))
    }

    /// The service reads the store before the lease ends, and no signal wakes it afterwards. It
    /// must wake by itself.
    @Test func aRunningServiceEndsALeaseAtItsTime() async throws {
        let start = ContinuousClock.now
        let (early, end) = (self.fixture.now, self.fixture.now + 1)
        let ids = try await self.lease(3, until: end)
        try await self.run(now: { early + start.duration(to: .now).timeInterval }) {
            try await eventually { try await self.waiting() == 0 }
        }
        #expect(start.duration(to: .now) >= .seconds(1))
        #expect(try await self.areErased(ids))
    }

    /// Returns the number of notifications in Alice's list.
    private func waiting() async throws -> Int {
        let page = try await self.fixture.reader.notifications(
            ChangeRange(after: nil, limit: 1000, isUnreadOnly: false),
            for: self.alice.id,
            now: self.fixture.now
        ) { _ in false }
        return page.entries.count
    }
}
