import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Two servers send pushes of one database at the same time.
@Suite(.timeLimit(.minutes(5))) struct OutboxRaceTests {
    /// The stores of two servers.
    private let servers: [StoreFixture]
    private let alice: User
    private var first: StoreFixture { self.servers[0] }

    init() async throws {
        let fixture = try StoreFixture(.postgreSQL, options: .patient)
        self.servers = [fixture, try fixture.reopened(options: .patient)]
        self.alice = try await fixture.addUser("alice", role: .publisher)
    }

    private func addDevices(_ count: Int) async throws {
        for number in 0..<count {
            try await self.first.addDevice(of: self.alice, handle: "d-\(number)", tags: ["news"])
        }
    }

    /// Runs the body on both servers at the same time, `rounds` times.
    private func atOnce<Outcome: Sendable>(
        rounds: Int = 1,
        _ body: @escaping @Sendable (StoreFixture) async throws -> Outcome
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            for _ in 0..<rounds {
                for server in self.servers { group.addTask { try await body(server) } }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func tally() async throws -> Tally {
        try await self.first.reader.tallies()["apns"] ?? Tally()
    }

    @Test(arguments: [nil, Duration.seconds(60)]) func eachPushIsLeasedByOneServer(interval: Duration?) async throws {
        try await self.addDevices(50)
        try await self.first.post(1, from: self.alice, to: "news")
        let leased = try await self.atOnce(rounds: 4) { try await $0.lease(limit: 10, interval: interval) }.flatMap(
            \.self
        )
        #expect(Set(leased.map(\.device)).count == leased.count)
        var rest = try await self.first.lease(limit: 100, interval: interval)
        rest += try await self.servers[1].lease(limit: 100, interval: interval)
        #expect(Set((leased + rest).map(\.device)).count == 50)
        #expect(leased.count + rest.count == 50)
        #expect(try await self.first.nextDue() == nil)
    }

    @Test func pushesLeasedByAStoppedServerAreLeasedByTheOther() async throws {
        try await self.addDevices(5)
        try await self.first.post(1, from: self.alice, to: "news")
        let lost = try await self.first.lease()
        #expect(lost.count == 5)
        #expect(try await self.servers[1].lease().isEmpty)
        await self.first.store.close()
        let taken = try await self.servers[1].lease()
        #expect(taken.map(\.state.attempts) == [2, 2, 2, 2, 2])
        #expect(Set(taken.map(\.push.attemptID)) == Set(lost.map(\.push.attemptID)))
        for delivery in taken { try await self.servers[1].settle(delivery, as: .accepted(providerID: nil)) }
        #expect(try await self.servers[1].reader.tallies()["apns"]?.accepted == 5)
    }

    @Test func settlingAPushLeasedByAnotherServerChangesNothing() async throws {
        try await self.addDevices(1)
        try await self.first.post(1, from: self.alice, to: "news")
        let leased = try #require(try await self.first.lease().first)
        // The second server has never leased this push, so its settlements must have no effect.
        for settlement in [Settlement.accepted(providerID: nil), .failed(reason: "no"), .released] {
            try await self.servers[1].settle(leased, as: settlement)
        }
        #expect(try await self.tally().pending == 1)
        #expect(try await self.servers[1].lease().isEmpty)
        try await self.first.settle(leased, as: .accepted(providerID: nil))
        #expect(try await self.tally().accepted == 1)
    }

    private func change(_ change: PushChange, to device: RegistrationID, in server: StoreFixture) async throws
        -> PushChangeOutcome
    {
        let id = try #require(NotificationID(rawValue: 1))
        let push = SinglePush(notification: id, device: device, sender: nil)
        return try await server.store.change(push, change, by: nil, now: server.now)
    }

    @Test func aPushLeasedByAnotherServerCanBeCancelled() async throws {
        let device = try await self.first.addDevice(of: self.alice, handle: "d", tags: ["news"])
        try await self.first.post(1, from: self.alice, to: "news")
        let leased = try #require(try await self.first.lease().first)
        #expect(try await self.change(.hasten, to: device, in: self.servers[1]) == .unchanged)
        #expect(try await self.servers[1].lease().isEmpty)
        #expect(try await self.change(.cancel, to: device, in: self.servers[1]) == .done)
        #expect(try await self.change(.cancel, to: device, in: self.first) == .unchanged)
        try await self.first.settle(leased, as: .retried(at: self.first.now + 60, reason: "Shutdown"))
        let tally = try await self.tally()
        #expect((tally.enqueued, tally.cancelled, tally.pending) == (1, 1, 0))
    }

    @Test func aPushThatIsCancelledAndLeasedAtOnceEndsOnce() async throws {
        let device = try await self.first.addDevice(of: self.alice, handle: "d", tags: ["news"])
        try await self.first.post(1, from: self.alice, to: "news")
        async let changes = self.atOnce(rounds: 4) { try await self.change(.cancel, to: device, in: $0) }
        async let leased = self.atOnce(rounds: 2) { server in try await server.lease().map { (server, $0) } }.flatMap(
            \.self
        )
        #expect(try await changes.count { $0 == .done } == 1)
        for (server, delivery) in try await leased {
            try await server.settle(delivery, as: .retried(at: server.now + 60, reason: "Shutdown"))
        }
        let tally = try await self.tally()
        #expect((tally.enqueued, tally.cancelled, tally.pending) == (1, 1, 0))
    }

    @Test func twoServersLeaseOnlyOnePushToADeviceAtATime() async throws {
        try await self.addDevices(1)
        for number in Int64(1)...6 { try await self.first.post(number, from: self.alice, to: "news") }
        let leased = try await self.atOnce(rounds: 3) { try await $0.lease(limit: 1, interval: .seconds(60)) }
        #expect(leased.flatMap(\.self).count <= 1)
        #expect(try await self.tally().accepted == 0)
    }

    @Test func aScheduledNotificationIsSentOnce() async throws {
        try await self.addDevices(3)
        for number in Int64(1)...20 {
            try await self.first.post(number, from: self.alice, to: "news", sendAt: self.first.now + 60)
        }
        let later = self.first.now + 60
        let released = try await self.atOnce(rounds: 4) { try await $0.store.releaseScheduled(limit: 5, now: later) }
        var sent = released.flatMap(\.sent)
        sent += try await self.first.store.releaseScheduled(limit: 100, now: later).sent
        #expect(sent.map(\.rawValue).sorted() == Array(1...20))
        #expect(try await self.tally().enqueued == 60)
    }

    @Test func aBroadcastIsExpandedOnce() async throws {
        try await self.addDevices(40)
        try await self.first.post(1, from: self.alice, to: "news", collapseID: "key", page: 3)
        try await self.first.post(2, from: self.alice, to: "news", collapseID: "key", page: 3)
        let now = self.first.now
        _ = try await self.atOnce(rounds: 10) { try await $0.store.expandFanout(page: 3, now: now) }
        while try await self.first.store.expandFanout(page: 3, now: now) != nil {}
        let tally = try await self.tally()
        #expect(tally.pending == 40)
        #expect(Set(try await self.first.lease().map(\.push.notification.rawValue)) == [2])
    }

    @Test func simultaneousPostsWithOneCollapseIDLeaveOnePushPerDevice() async throws {
        try await self.addDevices(3)
        let numbers = Array(Int64(1)...12)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in numbers {
                let server = self.servers[Int(number) % self.servers.count]
                group.addTask { [alice] in
                    _ = try await server.post(number, from: alice, to: "news", collapseID: "key")
                }
            }
            try await group.waitForAll()
        }
        #expect(try await self.tally().pending == 3)
        #expect(Set(try await self.first.lease().map(\.push.notification)).count == 1)
    }

    @Test func aPushThatIsCancelledWhileItIsSettledEndsOnce() async throws {
        try await self.addDevices(20)
        try await self.first.post(1, from: self.alice, to: "news")
        let leased = try await self.first.lease(limit: 10)
        let id = try #require(NotificationID(rawValue: 1))
        let (now, sender) = (self.first.now, self.alice.id)
        async let recall = self.servers[1].store.recall(id, by: .sender(sender), recording: nil, page: nil, now: now)
        try await self.first.store.settle(leased.map { ($0, .accepted(providerID: nil)) }, now: now)
        #expect(try await recall)
        #expect(try await self.servers[1].store.cancelRecalled(id, after: 0, page: nil, now: now) == nil)
        #expect(try await self.first.lease().isEmpty)
        let tally = try await self.tally()
        #expect(tally.accepted == 10)
        #expect(tally.cancelled == 10)
    }
}
