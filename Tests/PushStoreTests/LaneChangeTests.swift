import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// A device registers a handle of another provider. Its queued pushes move to that provider's lane
/// (queue of pushes). No provider gets another provider's handle, and the counts of each lane stay
/// correct.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct LaneChangeTests {
    private let fixture: StoreFixture
    private let alice: User
    private let device: RegistrationID

    init() async throws {
        var options = StoreOptions()
        options.streamLanes = ["stream"]
        self.fixture = try StoreFixture(options: options)
        self.alice = try await self.fixture.addUser("alice")
        self.device = try await self.fixture.addDevice(of: self.alice, platform: "apns", handle: "token-of-apns")
    }

    private func post(_ number: Int64) async throws {
        try await fixture.post(number, from: alice, to: "username:alice")
    }

    @discardableResult
    private func register(_ platform: String, _ handle: String, page: Int = 1000) async throws -> RegisterOutcome {
        try await fixture.store.register(
            DeviceRegistration(
                platform: Platform(platform),
                lane: Lane(Platform(platform)),
                handle: #require(DeviceHandle(handle)),
                tags: []
            ),
            as: device,
            for: alice,
            with: nil,
            by: nil,
            within: nil,
            page: page,
            now: fixture.now
        )
    }

    /// Leases the due pushes of a platform. Returns the handles that the platform's provider gets.
    private func claimed(_ platform: String) async throws -> [String] {
        try await fixture.lease(platform).map(\.push.handle)
    }

    private func expectTally(_ lane: String, enqueued: Int, _ expected: (inout Tally) -> Void = { _ in }) async throws {
        var tally = Tally()
        tally.enqueued = enqueued
        expected(&tally)
        #expect(try await fixture.reader.tallies()[lane] == tally)
    }

    @Test(arguments: [1, 2, 3, 1000])
    func queuedPushesMoveWithTheRegistration(page: Int) async throws {
        for number: Int64 in 1...3 { try await self.post(number) }
        // The old provider has delayed this push. The delay does not apply to the new provider.
        let first = try #require(try await fixture.lease(limit: 1).first)
        try await fixture.settle(first, as: .retried(at: fixture.now + 900, reason: "busy"))
        #expect(try await self.register("fcm", "token-of-fcm", page: page) == .registered(moved: 3))
        #expect(try await fixture.nextDue("apns") == nil)
        #expect(try await self.claimed("apns").isEmpty)
        #expect(try await self.claimed("fcm") == Array(repeating: "token-of-fcm", count: 3))
        try await self.expectTally("apns", enqueued: 3) { $0.cancelled = 3 }
        try await self.expectTally("fcm", enqueued: 3)
    }

    @Test func aPushThatMovesToAStreamWaitsWithoutAnAttempt() async throws {
        try await self.post(1)
        let leased = try #require(try await fixture.lease().first)
        try await fixture.settle(leased, as: .retried(at: fixture.now + 900, reason: "busy"))
        #expect(try await self.register("stream", "one") == .registered(moved: 1))
        // With SQLite, the server looks for the device's stream only when it sends the push.
        for push in try await fixture.lease("stream") {
            try await fixture.settle(push, as: .away(reason: PushReason.away))
        }
        let entries = try await fixture.reader.deliveries(of: leased.push.notification, after: 0, limit: 2)
        #expect(entries.map(\.state) == [.queued])
        #expect(entries.map(\.attempts) == [0])
        #expect(entries.map(\.reason) == [PushReason.away])
        _ = try await fixture.store.streamOpened(for: [device], ofUser: alice.id, after: nil, now: fixture.now)
        #expect(try await fixture.lease("stream").map(\.state.attempts) == [1])
    }

    @Test func anotherHandleOfTheSameProviderMovesNothing() async throws {
        try await self.post(1)
        #expect(try await self.register("apns", "another-token") == .registered(moved: 0))
        #expect(try await self.claimed("apns") == ["another-token"])
        try await self.expectTally("apns", enqueued: 1)
    }

    @Test(arguments: [Settlement.retried(at: .distantFuture, reason: "offline"), .released])
    func pushInFlightIsRetriedInTheNewLane(settlement: Settlement) async throws {
        try await self.post(1)
        let leased = try #require(try await fixture.lease().first)
        #expect(try await self.register("fcm", "token-of-fcm") == .registered(moved: 0))
        try await fixture.settle(leased, as: settlement)
        #expect(try await self.claimed("apns").isEmpty)
        #expect(try await self.claimed("fcm") == ["token-of-fcm"])
        try await self.expectTally("apns", enqueued: 1) { $0.cancelled = 1 }
        try await self.expectTally("fcm", enqueued: 1)
    }

    @Test func pushAcceptedInFlightIsNotSentAgain() async throws {
        try await self.post(1)
        let leased = try #require(try await fixture.lease().first)
        try await self.register("fcm", "token-of-fcm")
        try await fixture.settle(leased, as: .accepted(providerID: nil))
        #expect(try await self.claimed("fcm").isEmpty)
        try await self.expectTally("apns", enqueued: 1) { $0.accepted = 1 }
    }

    @Test(arguments: [("apns", "another-token"), ("fcm", "token-of-fcm"), ("fcm", "token-of-apns")])
    func pushRefusedAtAnOldHandleGoesToTheNewOne(platform: String, handle: String) async throws {
        try await self.post(1)
        let leased = try #require(try await fixture.lease().first)
        try await self.register(platform, handle)
        #expect(try await !self.retire(leased, refusedIn: "apns"))
        try await fixture.settle(leased, as: .failed(reason: "Unregistered"))
        #expect(try await self.claimed(platform) == [handle])
        #expect(try await fixture.reader.tallies().values.map(\.pending).reduce(0, +) == 1)
    }

    @Test func pushRefusedAtTheCurrentHandleHasFailed() async throws {
        try await self.post(1)
        let leased = try #require(try await fixture.lease().first)
        #expect(try await self.retire(leased, refusedIn: "apns"))
        try await fixture.settle(leased, as: .failed(reason: "Unregistered"))
        try await self.expectTally("apns", enqueued: 1) { $0.failed = 1 }
    }

    /// After a crash, the pushes that the last process had taken (leased) become due again. Each
    /// push returns to the lane of its device.
    @Test func reclaimedPushMovesToTheLaneOfItsDevice() async throws {
        try await self.post(1)
        _ = try await fixture.lease()
        try await self.register("fcm", "token-of-fcm")
        try await fixture.store.reclaimLeases(now: fixture.now)
        #expect(try await self.claimed("apns").isEmpty)
        #expect(try await self.claimed("fcm") == ["token-of-fcm"])
        try await self.expectTally("apns", enqueued: 1) { $0.cancelled = 1 }
        try await self.expectTally("fcm", enqueued: 1)
    }

    @Test func pushCancelledInFlightIsNotSentInTheNewLane() async throws {
        try await self.post(1)
        _ = try await fixture.lease()
        #expect(try await fixture.store.dismiss(#require(NotificationID(rawValue: 1)), by: alice.id, now: fixture.now))
        try await fixture.store.reclaimLeases(now: fixture.now)
        #expect(try await self.register("fcm", "token-of-fcm") == .registered(moved: 1))
        #expect(try await self.claimed("fcm").isEmpty)
        try await self.expectTally("fcm", enqueued: 1) { $0.cancelled = 1 }
    }

    // MARK: - Private

    private func retire(_ leased: LeasedDelivery, refusedIn lane: String) async throws -> Bool {
        try await fixture.store.retire(
            device: leased.device,
            handle: leased.push.handle,
            in: Lane(Platform(lane)),
            reason: "Unregistered",
            since: fixture.now,
            now: fixture.now
        ) != nil
    }
}
