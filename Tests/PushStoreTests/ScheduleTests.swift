import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Notifications that the store keeps until the time at which they are to be sent.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct ScheduleTests {
    private let keyring = Keyring.generateText()
    private let fixture: StoreFixture
    private let paul: User
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture(keyring: self.keyring)
        self.paul = try await self.fixture.addUser("paul", role: .publisher)
        self.alice = try await self.fixture.addUser("alice")
        try await self.fixture.addDevice(of: self.alice, handle: "aa", tags: ["news"])
    }

    private func id(_ number: Int64) throws -> NotificationID { try #require(NotificationID(rawValue: number)) }

    private func release(limit: Int? = nil) async throws -> Release {
        try await self.fixture.store.releaseScheduled(limit: limit, now: self.fixture.now)
    }

    /// Returns the numbers of the notifications in a user's list, in the order of their last
    /// changes.
    private func listed(by user: User? = nil) async throws -> [Int64] {
        try await self.fixture.reader.notifications(
            ChangeRange(after: nil, limit: 100, isUnreadOnly: false),
            for: (user ?? self.alice).id,
            now: self.fixture.now
        ) { _ in false }.entries.map(\.id.rawValue)
    }

    private func pushed() async throws -> [Int64] {
        try await self.fixture.lease().map(\.push.notification.rawValue)
    }

    @Test func scheduledNotificationIsHiddenUntilItsTime() async throws {
        let start = self.fixture.now
        let outcome = try await self.fixture.post(1, from: self.paul, to: "username:alice", sendAt: start + 60)
        #expect(outcome == .stored(Reach(recipients: 0, pushes: 0, isComplete: false), hasWork: false))
        let reader = self.fixture.reader
        let find = {
            try await reader.notification(self.id(1), for: self.alice.id, alsoAsSender: true, now: self.fixture.now)
        }
        self.fixture.clock.advance(by: 59.999)
        #expect(try await self.release() == Self.waiting(until: start + 60))
        #expect(try await find() == nil)
        #expect(try await self.listed() == [])
        #expect(try await self.pushed() == [])
        #expect(try await reader.isThere(self.id(1), from: self.paul.id, now: self.fixture.now))
        #expect(try await reader.sendTime(of: self.id(1)) == start + 60)
        #expect(try await reader.schedule() == Schedule(count: 1, firstDue: start + 60))
        #expect(try await reader.schedule(countingAtMost: 0).count == 0)
        self.fixture.clock.advance(by: 0.001)
        let release = try await self.release()
        #expect(release.sent == [try self.id(1)])
        #expect(release.hasWork && release.nextDue == nil)
        let found = try #require(try await find())
        #expect(found.createdAt == start + 60)
        #expect(found.expiresAt == start + 3660)
        #expect(try await self.listed() == [1])
        #expect(try await self.pushed() == [1])
        #expect(try await reader.sendTime(of: self.id(1)) == nil)
        #expect(try await reader.schedule() == Schedule(count: 0, firstDue: nil))
        #expect(try await self.release() == Release())
    }

    private static func waiting(until date: Date) -> Release {
        var release = Release()
        release.nextDue = date
        return release
    }

    @Test func releaseReachesTheRecipientsOfThatMoment() async throws {
        let bob = try await self.fixture.addUser("bob")
        try await self.fixture.addUser("carol")
        let later = self.fixture.now + 60
        try await self.fixture.post(1, from: self.paul, to: "news", "username:bob", "username:carol", sendAt: later)
        #expect(
            try await self.fixture.post(2, from: self.paul, to: "username:nobody", sendAt: later)
                == .unknownUser(try #require(Username("nobody")))
        )
        _ = try await self.fixture.store.deleteUser(try #require(Username("carol")))
        try await self.fixture.addDevice(of: bob, handle: "bb", tags: ["news"])
        let device = try #require(try await self.fixture.reader.devices(ofUser: self.alice.id).first)
        #expect(try await self.fixture.store.unregister(device.id, ofUser: self.alice.id))
        self.fixture.clock.advance(by: 60)
        #expect(try await self.release().sent == [try self.id(1)])
        #expect(try await self.listed() == [])
        #expect(try await self.listed(by: bob) == [1])
        #expect(try await self.fixture.lease().map(\.push.handle) == ["bb"])
    }

    @Test func releasesOfOneTimeKeepTheOrderOfTheirPosts() async throws {
        let later = self.fixture.now + 60
        for number in [5, 3, 4] as [Int64] {
            try await self.fixture.post(number, from: self.paul, to: "username:alice", collapseID: "k", sendAt: later)
        }
        try await self.fixture.post(1, from: self.paul, to: "username:alice", sendAt: later - 1)
        try await self.fixture.post(2, from: self.paul, to: "username:alice", collapseID: "k")
        self.fixture.clock.advance(by: 60)
        let first = try await self.release(limit: 2)
        #expect(first.sent.map(\.rawValue) == [1, 5])
        #expect(first.nextDue == later, "more are due")
        #expect(try await self.release(limit: 2).sent.map(\.rawValue) == [3, 4])
        #expect(try await self.listed() == [2, 1, 5, 3, 4])
        #expect(try await self.pushed() == [1, 4], "4 is the last with its collapse key")
    }

    /// Pushes that become due at the same time are sent in the order of their notifications,
    /// whatever the notifications' ids are.
    @Test(arguments: [60, nil] as [TimeInterval?])
    func pushesOfOneTimeKeepTheOrderOfTheirPosts(delay: TimeInterval?) async throws {
        let (numbers, sendAt) = ([5, 3, 8, 1, 7] as [Int64], delay.map { self.fixture.now + $0 })
        for number in numbers {
            try await self.fixture.post(number, from: self.paul, to: "username:alice", sendAt: sendAt)
        }
        self.fixture.clock.advance(by: delay ?? 0)
        _ = try await self.release()
        #expect(try await self.pushed() == numbers)
    }

    @Test func senderRecallsBeforeAndAfterTheRelease() async throws {
        for number in 1...3 as ClosedRange<Int64> {
            try await self.fixture.post(number, from: self.paul, to: "username:alice", sendAt: self.fixture.now + 60)
        }
        let (store, now) = (self.fixture.store, self.fixture.now)
        #expect(try await !store.recall(self.id(1), by: .sender(self.alice.id), now: now))
        #expect(try await !store.recall(self.id(1), by: .scheduler(self.alice.id), now: now))
        #expect(try await store.recall(self.id(1), by: .scheduler(self.paul.id), now: now))
        #expect(try await store.recall(self.id(2), by: .sender(self.paul.id), now: now))
        #expect(try await !store.recall(self.id(2), by: .scheduler(self.paul.id), now: now), "it is gone")
        self.fixture.clock.advance(by: 60)
        #expect(try await self.release().sent == [try self.id(3)])
        #expect(try await !store.recall(self.id(3), by: .scheduler(self.paul.id), now: self.fixture.now), "it was sent")
        #expect(try await store.recall(self.id(3), by: .sender(self.paul.id), now: self.fixture.now))
        #expect(try await self.listed() == [])
    }

    @Test func scheduledNotificationSurvivesARestartAndIsSentOnce() async throws {
        try await self.fixture.post(1, from: self.paul, to: "username:alice", sendAt: self.fixture.now + 60)
        await self.fixture.store.close()
        let next = try self.fixture.reopened()
        let later = self.fixture.now + 3000
        #expect(try await next.store.releaseScheduled(now: later).sent == [try self.id(1)])
        #expect(try await next.store.releaseScheduled(now: later).sent == [])
        #expect(try await next.store.releaseScheduled(now: self.fixture.now).sent == [], "a clock that is set back")
        await next.store.close()
    }

    @Test func expiredScheduledNotificationIsNotSent() async throws {
        try await self.fixture.post(
            1,
            from: self.paul,
            to: "username:alice",
            expiresIn: 10,
            sendAt: self.fixture.now + 60
        )
        self.fixture.clock.advance(by: 70)
        #expect(try await self.release() == Release())
        #expect(try await self.fixture.reader.schedule().count == 0)
        #expect(try await self.pushed() == [])
        try await self.fixture.post(
            2,
            from: self.paul,
            to: "username:alice",
            expiresIn: 10,
            sendAt: self.fixture.now + 60
        )
        self.fixture.clock.advance(by: 70)
        while try await self.fixture.store.deleteExpired(now: self.fixture.now, page: 10) {}
        #expect(try await self.fixture.reader.schedule().count == 0)
    }

    @Test func aSenderWhoMayNotSendAnyMoreSendsNothing() async throws {
        let names = ["gone", "disabled", "demoted", "topics", "both", "itself", "allowed"]
        let targets = ["topics": "news", "both": "username:both || news", "itself": "username:itself"]
        for (number, name) in names.enumerated() {
            let user = try await self.fixture.addUser(name, role: .publisher)
            let target = targets[name] ?? "username:alice"
            try await self.fixture.post(Int64(number + 1), from: user, to: target, sendAt: self.fixture.now + 60)
        }
        let (store, now) = (self.fixture.store, self.fixture.now)
        _ = try await store.deleteUser(try #require(Username("gone")))
        _ = try await store.changeUser(try #require(Username("disabled")), isDisabled: true, now: now)
        for name in ["demoted", "topics", "both", "itself"] {
            _ = try await store.changeUser(try #require(Username(name)), role: .device, now: now)
        }
        self.fixture.clock.advance(by: 60)
        let release = try await self.release()
        #expect(release.sent.map(\.rawValue) == [6, 7])
        #expect(release.refused.map(\.rawValue) == [1, 2, 3, 4, 5])
        #expect(try await !self.fixture.reader.isThere(self.id(1), from: nil, now: self.fixture.now), "it is recalled")
        #expect(try await self.listed() == [7])
    }

    @Test func scheduledNotificationCountsAsStored() async throws {
        let bounds = try #require(StorageBounds(devices: 1, notifications: 1, bytes: 1000))
        let later = self.fixture.now + 60
        try await self.fixture.post(1, from: self.paul, to: "username:alice", within: bounds, sendAt: later)
        #expect(
            try await self.fixture.post(2, from: self.paul, to: "username:alice", within: bounds, sendAt: later)
                == .tooMuch(.notifications)
        )
    }

    @Test func releasedBroadcastFansOutInPages() async throws {
        for number in 0..<1001 {
            try await self.fixture.addDevice(of: self.alice, handle: "d-\(number)", tags: ["all"])
        }
        for number in [1, 2] as [Int64] {
            try await self.fixture.post(number, from: self.paul, to: "all", sendAt: self.fixture.now + 60)
        }
        self.fixture.clock.advance(by: 60)
        let first = try await self.release()
        #expect(first.sent == [try self.id(1)], "one transaction has many pushes already")
        #expect(first.nextDue == self.fixture.now)
        #expect(try await self.release().sent == [try self.id(2)])
        while try await self.fixture.store.expandFanout(now: self.fixture.now) != nil {}
        #expect(try await self.fixture.reader.tallies()["apns"]?.enqueued == 2002)
    }

    @Test func keysMayBeRotatedBeforeTheRelease() async throws {
        try await self.fixture.post(1, from: self.paul, to: "news && !beta", sendAt: self.fixture.now + 60)
        let both = try Keyring.addingKey(to: self.keyring).text
        _ = try await self.fixture.store.replaceKeyring(Keyring(text: both), now: self.fixture.now)
        let result = try #require(try await self.fixture.store.rewrap(page: 1))
        #expect(result.unreadable == 0 && result.unused == [1])
        self.fixture.clock.advance(by: 60)
        #expect(try await self.release().sent == [try self.id(1)])
        #expect(try await self.pushed() == [1])
    }
}
