import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Operations that cancel a queued push. The counts must show that each push ends in exactly one
/// way.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct PushCancellationTests {
    private let fixture: StoreFixture
    private var store: any Store { self.fixture.store }
    private let alice: User
    private let device: RegistrationID

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        self.device = try await self.fixture.addDevice(of: self.alice, handle: "a1")
    }

    private func post(_ number: Int64, collapseID: String? = nil) async throws {
        try await fixture.post(number, from: alice, to: "username:alice", collapseID: collapseID)
        fixture.clock.advance(by: 1)
    }

    private func expectTally(enqueued: Int, _ expected: (inout Tally) -> Void) async throws {
        var tally = Tally()
        tally.enqueued = enqueued
        expected(&tally)
        #expect(try await fixture.reader.tallies()["apns"] == tally)
    }

    private func claimed(interval: Duration? = nil) async throws -> [Int64] {
        try await fixture.lease(interval: interval).map(\.push.notification.rawValue)
    }

    // MARK: A single push

    private func change(_ change: PushChange, of number: Int64 = 1, by sender: Int64? = nil) async throws
        -> PushChangeOutcome
    {
        let id = try #require(NotificationID(rawValue: number))
        let push = SinglePush(notification: id, device: self.device, sender: sender)
        let record = AuditRecord(.cancelPush, of: "\(number)", at: fixture.now)
        return try await self.store.change(push, change, by: record, now: fixture.now)
    }

    @Test func aSinglePushIsCancelledAndTheOthersAreNot() async throws {
        let other = try await fixture.addDevice(of: alice, handle: "a2")
        try await self.post(1)
        #expect(try await self.change(.cancel) == .done)
        let claimed = try await fixture.lease()
        #expect(claimed.count == 1)
        try await self.expectTally(enqueued: 2) { $0.cancelled = 1 }
        let id = try #require(NotificationID(rawValue: 1))
        let entries = try await fixture.reader.deliveries(of: id, after: 0, limit: 10)
        #expect(entries.first { $0.device == self.device }?.reason == PushReason.cancelled)
        #expect(entries.first { $0.device == other }?.state == .sending)
        #expect(try await self.change(.cancel) == .unchanged)
        let actions = try await fixture.reader.auditEntries(before: nil, limit: 10).map(\.action)
        #expect(actions.filter { $0 == AuditRecord.Action.cancelPush.rawValue }.count == 1)
    }

    @Test func cancelledPushInFlightIsNotRetried() async throws {
        try await self.post(1)
        let leased = try #require(try await fixture.lease().first)
        #expect(try await self.change(.cancel) == .done)
        #expect(try await self.change(.cancel) == .unchanged)
        try await fixture.settle(leased, as: .retried(at: fixture.now + 60, reason: "Shutdown"))
        try await self.expectTally(enqueued: 1) { $0.cancelled = 1 }
    }

    @Test func hastenedPushIsDueAtOnce() async throws {
        try await self.post(1)
        let leased = try #require(try await fixture.lease().first)
        try await fixture.settle(leased, as: .retried(at: fixture.now + 600, reason: "Shutdown"))
        #expect(try await self.claimed() == [])
        #expect(try await self.change(.hasten) == .done)
        #expect(try await self.claimed() == [1])
        #expect(try await self.change(.hasten) == .unchanged, "it is being sent")
        #expect(try await self.claimed() == [])
    }

    @Test func onlyAnExistingPushIsChanged() async throws {
        try await self.post(1)
        for change in [PushChange.cancel, .hasten] {
            #expect(try await self.change(change, of: 2) == .missing)
            #expect(try await self.change(change, by: alice.id + 1) == .missing)
        }
        #expect(try await self.change(.hasten) == .unchanged, "it is due")
        #expect(try await self.change(.cancel, by: alice.id) == .done)
        #expect(try await self.change(.hasten) == .ended)
    }

    @Test func acceptedPushIsNotCancelled() async throws {
        try await self.post(1)
        let leased = try #require(try await fixture.lease().first)
        #expect(try await self.change(.cancel) == .done)
        try await fixture.settle(leased, as: .accepted(providerID: nil))
        for change in [PushChange.cancel, .hasten] { #expect(try await self.change(change) == .ended) }
        try await self.expectTally(enqueued: 1) { $0.accepted = 1 }
    }

    // MARK: Collapse keys

    /// A later notification replaces an earlier one with the same collapse key, even if the clock
    /// was set back between them.
    @Test func clockSetBackDoesNotChangeTheOrderOfPushes() async throws {
        try await self.post(1, collapseID: "inbox")
        fixture.clock.advance(by: -600)
        try await self.post(2, collapseID: "inbox")
        #expect(try await self.claimed() == [2])
        #expect(try await fixture.reader.tallies()["apns"]?.cancelled == 1)
    }

    @Test func aNewerPushOfTheSameKeyReplacesOneThatIsQueued() async throws {
        try await self.post(1, collapseID: "inbox")
        try await self.post(2, collapseID: "other")
        try await self.post(3)
        try await self.post(4, collapseID: "inbox")
        #expect(try await self.claimed() == [2, 3, 4])
        try await self.expectTally(enqueued: 4) { $0.cancelled = 1 }
    }

    @Test func replacedPushInFlightCountsByItsOutcome() async throws {
        try await self.post(1, collapseID: "inbox")
        let first = try #require(try await fixture.lease().first)
        try await self.post(2, collapseID: "inbox")
        try await fixture.settle(first, as: .accepted(providerID: "p"))
        try await self.expectTally(enqueued: 2) { $0.accepted = 1 }
    }

    @Test(arguments: [Settlement.retried(at: .distantPast, reason: "busy"), .released])
    func replacedPushInFlightIsNotRetried(settlement: Settlement) async throws {
        try await self.post(1, collapseID: "inbox")
        let first = try #require(try await fixture.lease().first)
        try await self.post(2, collapseID: "inbox")
        try await fixture.settle(first, as: settlement)
        #expect(try await self.claimed() == [2])
        try await self.expectTally(enqueued: 2) { $0.cancelled = 1 }
    }

    @Test func replacedPushIsNotRetriedAfterARestart() async throws {
        try await self.post(1, collapseID: "inbox")
        _ = try await fixture.lease()
        try await self.post(2, collapseID: "inbox")
        try await fixture.store.reclaimLeases(now: fixture.now)
        #expect(try await self.claimed() == [2])
        try await self.expectTally(enqueued: 2) { $0.cancelled = 1 }
    }

    // MARK: Devices

    @Test func movedHandleCancelsTheQueueOfItsOldOwner() async throws {
        try await self.post(1)
        let bob = try await fixture.addUser("bob")
        try await fixture.addDevice(of: bob, handle: "a1")
        #expect(try await self.claimed().isEmpty)
        try await self.expectTally(enqueued: 1) { $0.cancelled = 1 }
    }

    @Test func aDeletedRegistrationCancelsItsQueueAndKeepsTheTally() async throws {
        try await self.post(1)
        #expect(try await store.unregister(device, ofUser: alice.id))
        #expect(try await self.claimed().isEmpty)
        try await self.expectTally(enqueued: 1) { $0.cancelled = 1 }
    }

    @Test func aDeletedUserCancelsTheQueueAndKeepsTheTally() async throws {
        let bob = try await fixture.addUser("bob")
        try await fixture.addDevice(of: bob, handle: "b1")
        try await fixture.post(1, from: alice, to: "username:bob")
        #expect(try await store.deleteUser(bob.name) == .done)
        try await self.expectTally(enqueued: 1) { $0.cancelled = 1 }
        #expect(try await fixture.nextDue() == nil)
    }

    // MARK: Expiry

    @Test func expiredPushIsCountedOnceWhetherLeasedOrDeleted() async throws {
        try await fixture.post(1, from: alice, to: "username:alice", expiresIn: 10)
        try await fixture.post(2, from: alice, to: "username:alice", expiresIn: 10)
        fixture.clock.advance(by: 10)
        #expect(try await fixture.lease(limit: 1).isEmpty)
        while try await store.deleteExpired(now: fixture.now, page: 1) {}
        try await self.expectTally(enqueued: 2) { $0.expired = 2 }
    }

    @Test(arguments: [1, 2, 3, 100])
    func aBroadcastIsDeletedPageByPage(page: Int) async throws {
        for number in 0..<5 { try await fixture.addDevice(of: alice, handle: "b\(number)") }
        try await fixture.post(1, from: alice, to: "username:alice", expiresIn: 10)
        let leased = try #require(try await fixture.lease(limit: 1).first)
        try await fixture.settle(leased, as: .accepted(providerID: nil))
        fixture.clock.advance(by: 10)
        while try await store.deleteExpired(now: fixture.now, page: page) {}
        try await self.expectTally(enqueued: 6) { ($0.accepted, $0.expired) = (1, 5) }
        #expect(try await fixture.post(1, from: alice, to: "username:alice") == .stored(pushes: 6))
    }

    // MARK: Pace

    private static let pace = Duration.seconds(1200)

    @Test func latestPushOfAnIntervalIsSentAtItsEnd() async throws {
        try await self.post(1)
        let first = try #require(try await fixture.lease(interval: Self.pace).first)
        // The minimum time between two pushes applies even while the first push is being sent.
        try await self.post(2)
        #expect(try await self.claimed(interval: Self.pace).isEmpty)
        try await fixture.settle(first, as: .accepted(providerID: nil))
        let accepted = fixture.now
        try await self.post(3)
        try await self.post(4)
        #expect(try await self.claimed(interval: Self.pace).isEmpty)
        fixture.clock.advance(by: accepted.timeIntervalSince(fixture.now) + 1199)
        #expect(try await self.claimed(interval: Self.pace).isEmpty)
        fixture.clock.advance(by: 1)
        #expect(try await self.claimed(interval: Self.pace) == [4])
        try await self.expectTally(enqueued: 4) { ($0.accepted, $0.cancelled) = (1, 2) }
    }

    @Test func pacedPushIsCancelledOnceItsDeviceHasFetched() async throws {
        try await self.post(1)
        let first = try #require(try await fixture.lease(interval: Self.pace).first)
        try await fixture.settle(first, as: .accepted(providerID: nil))
        try await self.post(2)
        try await self.post(3)
        #expect(try await self.claimed(interval: Self.pace).isEmpty)
        store.recordFetch(of: try #require(NotificationID(rawValue: 3)), by: alice.id, now: fixture.now)
        try await store.writeReceipts()
        fixture.clock.advance(by: 1200)
        #expect(try await self.claimed(interval: Self.pace).isEmpty)
        #expect(try await fixture.reader.tallies()["apns"]?.cancelled == 2)
    }

    @Test func pacedPushIsSentIfAnotherDeviceMayHaveFetched() async throws {
        try await self.post(1)
        let first = try #require(try await fixture.lease(interval: Self.pace).first)
        try await fixture.settle(first, as: .accepted(providerID: nil))
        try await self.post(2)
        #expect(try await self.claimed(interval: Self.pace).isEmpty)
        try await fixture.addDevice(of: alice, handle: "a2")
        store.recordFetch(of: try #require(NotificationID(rawValue: 2)), by: alice.id, now: fixture.now)
        try await store.writeReceipts()
        fixture.clock.advance(by: 1200)
        #expect(try await self.claimed(interval: Self.pace) == [2])
    }
}
