import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@Suite(.eachStore, .timeLimit(.minutes(5))) struct OutboxTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    private func lease(limit: Int = 10) async throws -> [LeasedDelivery] {
        try await self.fixture.lease(limit: limit)
    }

    /// Adds a user with one device, and `count` notifications for it.
    private func fill(_ count: Int64 = 1) async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abc")
        for number in 1...count { try await fixture.post(number, from: alice, to: "username:alice") }
    }

    @Test func leasedPushIsHiddenUntilReclaimedAndKeepsItsAttemptID() async throws {
        try await self.fill()
        let first = try #require(try await self.lease().first)
        #expect(first.push.handle == "abc")
        #expect(first.state.attempts == 1)
        fixture.clock.advance(by: 1_000_000)
        #expect(try await self.lease().isEmpty)
        #expect(try await fixture.nextDue() == nil)
        fixture.clock.advance(by: -1_000_000)
        try await fixture.store.reclaimLeases(now: fixture.now)
        let second = try #require(try await self.lease().first)
        #expect(second.push.attemptID == first.push.attemptID)
        #expect(second.state.attempts == 2)
    }

    @Test func oldestPushesAreLeasedFirstUpToTheLimit() async throws {
        try await self.fill(5)
        #expect(try await self.lease(limit: 2).count == 2)
        #expect(try await self.lease(limit: 10).count == 3)
        #expect(try await self.lease(limit: 10).isEmpty)
    }

    @Test(arguments: [
        Settlement.accepted(providerID: "p"), .expired, .failed(reason: "no"),
    ])
    func settledPushIsNeverLeasedAgain(settlement: Settlement) async throws {
        try await self.fill()
        let leased = try #require(try await self.lease().first)
        try await fixture.settle(leased, as: settlement)
        fixture.clock.advance(by: 1_000_000)
        #expect(try await self.lease().isEmpty)
        #expect(try await fixture.nextDue() == nil)
    }

    @Test func retriedPushIsDueAtItsTime() async throws {
        try await self.fill()
        let leased = try #require(try await self.lease().first)
        try await fixture.settle(leased, as: .retried(at: fixture.now + 10, reason: "busy"))
        fixture.clock.advance(by: 9.999)
        #expect(try await self.lease().isEmpty)
        fixture.clock.advance(by: 0.001)
        #expect(try await self.lease().count == 1)
    }

    @Test func oldestPushStaysTheOldestWhileItWaitsForARetry() async throws {
        func oldest() async throws -> Date? {
            try await self.fixture.reader.oldestWaiting(in: Lane(Platform("apns")), .direct)
        }
        #expect(try await oldest() == nil)
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abc")
        let start = fixture.now
        try await fixture.post(1, from: alice, to: "username:alice")
        #expect(try await oldest() == start)
        let leased = try #require(try await self.lease().first)
        fixture.clock.advance(by: 5)
        try await fixture.settle(leased, as: .retried(at: fixture.now + 600, reason: "busy"))
        // The store finds the oldest push even if many younger pushes are due before it.
        for number in 2...Int64(Queue.maximumExamined) + 8 {
            fixture.clock.advance(by: 0.1)
            try await fixture.post(number, from: alice, to: "username:alice")
        }
        #expect(try await oldest() == start)
        fixture.clock.advance(by: 700)
        for delivery in try await self.lease(limit: 100) {
            let isFirst = delivery.push.notification.rawValue == 1
            try await fixture.settle(delivery, as: isFirst ? .failed(reason: "no") : .released)
        }
        let age = try #require(try await oldest()).timeIntervalSince(start)
        #expect(abs(age - 5.1) < 0.01)
    }

    /// A parked push waits until its device connects, and not for a provider, so it does not count
    /// as old.
    @Test func oldestPushIgnoresParkedPushes() async throws {
        try await self.fill()
        let leased = try #require(try await self.lease().first)
        try await fixture.settle(leased, as: .away(reason: "not connected"))
        for queue in Queue.allCases {
            #expect(try await self.fixture.reader.oldestWaiting(in: Lane(Platform("apns")), queue) == nil)
        }
    }

    @Test func lateOutcomeCountsOnlyIfItIsASuccess() async throws {
        try await self.fill()
        let first = try #require(try await self.lease().first)
        try await fixture.store.reclaimLeases(now: fixture.now)
        _ = try await self.lease()
        try await fixture.settle(first, as: .retried(at: fixture.now, reason: "late"))
        #expect(try await self.lease().isEmpty)
        try await fixture.settle(first, as: .accepted(providerID: nil))
        fixture.clock.advance(by: 1000)
        #expect(try await self.lease().isEmpty)
    }

    @Test func acceptedPushSetsThePushTimeOfItsDevice() async throws {
        try await self.fill()
        let leased = try #require(try await self.lease().first)
        try await fixture.settle(leased, as: .accepted(providerID: nil))
        let alice = try await fixture.user("alice")
        #expect(try await fixture.reader.devices(ofUser: alice.id).first?.pushedAt == fixture.now)
    }
}
