import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The store's reads for operators' commands about failed pushes, users and devices.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct FailedPushTests {
    private let fixture: StoreFixture
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    /// Posts notifications with these numbers to alice's devices, and makes the pushes of each
    /// notification fail a second after those of the previous one.
    private func fail(_ numbers: ClosedRange<Int64>, expiresIn: TimeInterval = 3600) async throws {
        for number in numbers {
            self.fixture.clock.advance(by: 1)
            try await self.fixture.post(number, from: self.alice, to: "username:alice", expiresIn: expiresIn)
            for delivery in try await self.fixture.lease() {
                try await self.fixture.settle(delivery, as: .failed(reason: "BadDeviceToken"))
            }
        }
    }

    private func failed(
        since: Date = .distantPast,
        before last: FailurePlace? = nil,
        limit: Int = 100
    ) async throws -> [FailedPush] {
        try await self.fixture.reader.failedPushes(since: since, before: last, limit: limit)
    }

    private func id(_ number: Int64) throws -> NotificationID {
        try #require(NotificationID(rawValue: number))
    }

    @Test func failedPushesAreListedNewestFirstWithDeviceUserAndReason() async throws {
        let device = try await self.fixture.addDevice(of: self.alice, handle: "a1")
        try await self.fail(1...2)
        try await self.fixture.post(3, from: self.alice, to: "username:alice")
        let waiting = try #require(try await self.fixture.lease().first)
        try await self.fixture.settle(waiting, as: .accepted(providerID: nil))
        try await self.fixture.post(4, from: self.alice, to: "username:alice")
        let pushes = try await self.failed()
        #expect(pushes.map(\.notification.rawValue) == [2, 1])
        let push = try #require(pushes.first?.delivery)
        #expect((push.device, push.username, push.reason) == (device, self.alice.name, "BadDeviceToken"))
        #expect((push.state, push.lane, push.updatedAt) == (.failed, Lane(Platform("apns")), self.fixture.now))
    }

    /// `sealpost doctor` reads the counts of pushes (tallies) while a server runs, by an
    /// inspection of the database.
    @Test func anInspectionHasTheTalliesOfTheLanes() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "a1")
        try await self.fail(1...2)
        try await self.fixture.post(3, from: self.alice, to: "username:alice")
        let tally = try #require(try self.fixture.place.inspect().tallies["apns"])
        #expect((tally.enqueued, tally.failed, tally.pending) == (3, 2, 1))
    }

    @Test func aPeriodIncludesItsBeginning() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "a1")
        try await self.fail(1...3)
        let last = self.fixture.now
        #expect(try await self.failed(since: last - 1).map(\.notification.rawValue) == [3, 2])
        #expect(try await self.failed(since: last + 0.001).isEmpty)
    }

    /// Several failures have the same time: pushes to two devices, and pushes of two notifications
    /// to one device.
    @Test(arguments: [1, 2, 3, 10]) func pagesNeitherRepeatNorMissAFailedPush(limit: Int) async throws {
        for handle in ["a1", "a2"] { try await self.fixture.addDevice(of: self.alice, handle: handle) }
        try await self.fail(1...2)
        self.fixture.clock.advance(by: -1)
        try await self.fail(3...4)
        let whole = try await self.failed()
        #expect(whole.count == 8)
        var pages: [FailedPush] = []
        while case let page = try await self.failed(before: pages.last?.place, limit: limit), !page.isEmpty {
            #expect(page.count <= limit)
            pages += page
        }
        #expect(pages == whole)
    }

    /// This store records no events, so the list of failed pushes does not depend on events.
    @Test func aFailedPushIsListedUntilItsNotificationIsDeleted() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "a1")
        try await self.fail(1...1, expiresIn: 600)
        self.fixture.clock.advance(by: 599)
        #expect(try await !self.fixture.store.deleteExpired(now: self.fixture.now, page: 100))
        #expect(try await self.failed().count == 1)
        self.fixture.clock.advance(by: 1)
        while try await self.fixture.store.deleteExpired(now: self.fixture.now, page: 100) {}
        #expect(try await self.failed().isEmpty)
    }

    @Test func recipientsAreListedWithTheirTimes() async throws {
        let bob = try await self.fixture.addUser("bob")
        try await self.fixture.post(1, from: self.alice, to: "username:alice", "username:bob")
        let id = try self.id(1)
        self.fixture.clock.advance(by: 5)
        self.fixture.store.recordFetch(of: id, by: bob.id, now: self.fixture.now)
        try await self.fixture.store.writeReceipts()
        let entries = try await self.fixture.reader.recipients(of: id, after: 0, limit: 10)
        #expect(entries.map(\.username) == [self.alice.name, bob.name])
        #expect(entries.map(\.fetchedAt) == [nil, self.fixture.now])
        #expect(entries.allSatisfy { $0.readAt == nil && $0.dismissedAt == nil })
        let rest = try await self.fixture.reader.recipients(of: id, after: self.alice.id, limit: 10)
        #expect(rest.map(\.user) == [bob.id])
        #expect(try await self.fixture.reader.recipients(of: id, after: 0, limit: 1).map(\.user) == [self.alice.id])
        #expect(try await self.fixture.reader.recipients(of: self.id(2), after: 0, limit: 10).isEmpty)
    }

    @Test func aUsersPushesOfANotificationAreThoseToItsOwnDevices() async throws {
        let bob = try await self.fixture.addUser("bob")
        for (user, handle) in [(self.alice, "a1"), (self.alice, "a2"), (bob, "b1")] {
            try await self.fixture.addDevice(of: user, handle: handle, tags: ["news"])
        }
        try await self.fixture.post(1, from: self.alice, to: "news")
        let first = try #require(try await self.fixture.lease(limit: 1).first)
        try await self.fixture.settle(first, as: .failed(reason: "BadDeviceToken"))
        let reader = self.fixture.reader
        let pushes = try await reader.deliveries(of: self.id(1), toUser: self.alice.id, limit: 10)
        #expect(pushes.map(\.username) == [self.alice.name, self.alice.name])
        #expect(Set(pushes.map(\.state)).isSubset(of: [.failed, .queued]))
        #expect(try await reader.deliveries(of: self.id(1), toUser: bob.id, limit: 10).count == 1)
        #expect(try await reader.deliveries(of: self.id(1), toUser: self.alice.id, limit: 1).count == 1)
    }

    @Test func theLatestNotificationsOfAUserComeWithTheirTimes() async throws {
        let start = self.fixture.now
        for number in 1...3 as ClosedRange<Int64> {
            try await self.fixture.post(number, from: self.alice, to: "username:alice")
            self.fixture.clock.advance(by: 1)
        }
        let latest = try await self.fixture.reader.latestNotifications(ofUser: self.alice.id, limit: 2)
        #expect(latest.map(\.id.rawValue) == [3, 2])
        #expect(latest.map(\.createdAt) == [start + 2, start + 1])
        let summary = try #require(try await self.fixture.reader.summary(of: self.id(1)))
        #expect((summary.createdAt, summary.expiresAt, summary.recalledAt) == (start, start + 3600, nil))
        #expect(try await self.fixture.reader.summary(of: self.id(9)) == nil)
    }

    @Test func aDeviceIsFoundByItsIDInEachState() async throws {
        let requested = try await self.fixture.store.requestRegistration(
            ofUser: self.alice.id,
            handle: nil,
            now: self.fixture.now
        )
        #expect(try await self.fixture.reader.deviceEntry(requested)?.state == .requested)
        let device = try await self.fixture.addDevice(of: self.alice, handle: "a1")
        #expect(try await self.fixture.reader.deviceEntry(device)?.username == self.alice.name)
        // Registering the same handle again ends the earlier registration.
        try await self.fixture.addDevice(of: self.alice, handle: "a1")
        guard case .retired(_, let reason)? = try await self.fixture.reader.deviceEntry(device)?.state else {
            Issue.record("the device is not retired")
            return
        }
        #expect(reason == "the handle was registered again")
        #expect(try await self.fixture.reader.deviceEntry(#require(RegistrationID("none"))) == nil)
    }
}
