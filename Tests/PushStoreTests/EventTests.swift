import Foundation
import PushCore
import PushTesting
import Testing

@testable import PushStore

@Suite(.eachStore, .timeLimit(.minutes(5))) struct EventTests {
    private let fixture: StoreFixture
    private let paul: User
    private let alice: User
    private let device: RegistrationID

    init() async throws {
        self.fixture = try StoreFixture(options: .withEvents)
        self.paul = try await self.fixture.addUser("paul", role: .publisher)
        self.alice = try await self.fixture.addUser("alice")
        self.device = try await self.fixture.addDevice(of: self.alice, handle: "one")
    }

    private var store: any Store { self.fixture.store }

    private func page(
        after number: Int64? = nil,
        ofSender sender: User? = nil,
        limit: Int = 100
    ) async throws -> EventPage {
        try await self.fixture.reader.events(after: number, ofSender: sender, limit: limit)
    }

    private func events() async throws -> [PushEvent] { try await self.page().events }

    private func id(_ number: Int64) throws -> NotificationID {
        try #require(NotificationID(rawValue: number))
    }

    /// Posts to alice's device, and takes (leases) the push.
    private func leased(_ number: Int64, expiresIn: TimeInterval = 3600) async throws -> LeasedDelivery {
        try await self.fixture.post(number, from: self.paul, to: "username:alice", expiresIn: expiresIn)
        return try #require(try await self.fixture.lease().first)
    }

    @Test(arguments: [
        (Settlement.accepted(providerID: "x"), PushEvent.Kind.accepted, nil), (.expired, .expired, nil),
        (.failed(reason: "BadDeviceToken"), .failed, "BadDeviceToken"),
    ])
    func theEndOfAPushIsAnEvent(settlement: Settlement, kind: PushEvent.Kind, reason: String?) async throws {
        let delivery = try await self.leased(1)
        #expect(try await self.events().isEmpty)
        self.fixture.clock.advance(by: 5)
        try await self.fixture.settle(delivery, as: settlement)
        let event = try #require(try await self.events().first)
        #expect(
            event
                == PushEvent(
                    number: event.number,
                    at: self.fixture.now,
                    kind: kind,
                    notification: try self.id(1),
                    device: self.device,
                    user: Username("alice"),
                    platform: "apns",
                    reason: reason
                )
        )
        // If the outcome of a push is recorded twice, the second time changes nothing and makes no
        // event.
        try await self.fixture.settle(delivery, as: .failed(reason: "late"))
        #expect(try await self.events() == [event])
    }

    /// A sender reads events of its own apps only. An event whose notification is deleted belongs
    /// to the apps of the user who fetched the notification.
    @Test(arguments: [false, true])
    func aSenderReadsNoEventsOfAppsThatItHasLeft(isDeleted: Bool) async throws {
        let (bank, now) = (try #require(AppName("bank")), self.fixture.now)
        let banker = try await self.fixture.addUser("banker")
        _ = try await self.store.changeUser(banker.name, apps: [bank], now: now)
        try await self.fixture.addDevice(of: banker, platform: "bank:apns", handle: "b")
        let audience = Audience([.tag(Tag(of: banker.name))], of: bank, platforms: [Platform("apns", of: bank)])
        _ = try await self.fixture.post(self.id(1), from: self.paul, to: audience)
        try await self.fixture.settle(try await self.leased(2), as: .accepted(providerID: nil))
        try await self.fixture.settle(
            try #require(try await self.fixture.lease("bank:apns").first),
            as: .accepted(providerID: nil)
        )
        self.store.recordFetch(of: try self.id(1), by: banker.id, now: now)
        self.store.recordFetch(of: try self.id(2), by: self.alice.id, now: now)
        try await self.store.writeReceipts()
        if isDeleted {
            self.fixture.clock.advance(by: 1e7)
            while try await self.store.deleteExpired(now: self.fixture.now, page: 100) {}
        }
        for (apps, expected) in [([bank, .usual], [1, 1, 2, 2]), ([.usual], [2, 2]), ([bank], [1, 1]), ([], [])]
            as [(Set<AppName>, [Int64])]
        {
            _ = try await self.store.changeUser(self.paul.name, apps: apps, now: now)
            let page = try await self.page(ofSender: self.fixture.user("paul"))
            #expect(page.events.compactMap { $0.notification?.rawValue }.sorted() == expected, "\(apps)")
            #expect(try await page.end == self.page().end, "the reader does not fall behind")
        }
        #expect(try await self.events().count == 4)
    }

    // MARK: Changes with an event

    @Test func retriedPushHasNoEventBeforeItsEnd() async throws {
        let delivery = try await self.leased(1)
        try await self.fixture.settle(delivery, as: .retried(at: self.fixture.now, reason: "busy"))
        #expect(try await self.events().isEmpty)
        let again = try #require(try await self.fixture.lease().first)
        try await self.fixture.settle(again, as: .accepted(providerID: nil))
        #expect(try await self.events().map(\.kind) == [.accepted])
    }

    @Test func aPushThatIsCancelledOnItsWayHasOneEventWhenItEnds() async throws {
        let delivery = try await self.leased(1)
        #expect(try await self.store.dismiss(self.id(1), by: self.alice.id, now: self.fixture.now))
        #expect(try await self.events().isEmpty)
        try await self.fixture.settle(delivery, as: .retried(at: self.fixture.now, reason: "busy"))
        let events = try await self.events()
        #expect(events.map(\.kind) == [.cancelled])
        #expect(events.first?.reason == "dismissed by the user")
    }

    /// Changes that cancel a queued push before it is sent.
    @Test(arguments: ["dismissal", "recall", "unregistration", "deletion of the user", "retirement"])
    func aPushInTheQueueThatIsNoLongerNeededIsCancelled(cause: String) async throws {
        try await self.fixture.post(1, from: self.paul, to: "username:alice")
        let now = self.fixture.now
        switch cause {
        case "dismissal": #expect(try await self.store.dismiss(self.id(1), by: self.alice.id, now: now))
        case "recall":
            let id = try self.id(1)
            #expect(try await self.store.recall(id, by: .sender(self.paul.id), recording: nil, page: nil, now: now))
            _ = try await self.store.cancelRecalled(id, after: 0, page: nil, now: now)
        case "unregistration": #expect(try await self.store.unregister(self.device, ofUser: self.alice.id))
        case "deletion of the user":
            #expect(try await self.store.deleteUser(self.alice.name) == .done)
        default:
            let lane = Lane(Platform("apns"))
            let device = try #require(
                try await self.fixture.reader.deliveries(of: self.id(1), after: 0, limit: 1).first
            )
            #expect(
                try await self.store.retire(
                    device: device.number,
                    handle: "one",
                    in: lane,
                    reason: "Unregistered",
                    since: now,
                    now: now
                ) != nil
            )
        }
        let events = try await self.events().filter { $0.kind != .retired }
        #expect(events.map(\.kind) == [.cancelled])
        #expect(events.first?.notification == NotificationID(rawValue: 1))
        let isGone = cause == "unregistration" || cause == "deletion of the user"
        #expect((events.first?.device == nil) == isGone)
        #expect((events.first?.user == nil) == (cause == "deletion of the user"))
    }

    @Test func aPushThatIsDeletedWithItsNotificationHasExpired() async throws {
        try await self.fixture.post(1, from: self.paul, to: "username:alice", expiresIn: 60)
        let delivery = try await self.leased(2, expiresIn: 60)
        try await self.fixture.settle(delivery, as: .accepted(providerID: nil))
        let end = self.fixture.now + 60
        self.fixture.clock.advance(by: 100)
        #expect(try await !self.store.deleteExpired(now: self.fixture.now, page: 100))
        let events = try await self.events()
        #expect(events.map(\.kind) == [.accepted, .expired])
        #expect(events.last?.at == end)
        #expect(events.last?.device == self.device)
    }

    @Test func theFirstFetchIsAnEventOfItsUser() async throws {
        try await self.fixture.post(1, from: self.paul, to: "username:alice")
        for _ in 0..<2 {
            self.store.recordFetches(of: [try self.id(1)], by: self.alice.id, now: self.fixture.now)
            try await self.store.writeReceipts()
            self.fixture.clock.advance(by: 1)
        }
        let events = try await self.events()
        #expect(events.map(\.kind) == [.collected])
        #expect(events.first?.user == Username("alice"))
        #expect(events.first?.device == nil)
        #expect(events.first?.platform == nil)
        #expect(events.first?.at == self.fixture.now - 2)
    }

    @Test func theFetchOfAPayloadThatIsReadOnceIsAnEvent() async throws {
        try await self.fixture.post(1, from: self.paul, to: "username:alice", isReadOnce: true)
        #expect(try await self.store.take(self.id(1), by: self.alice.id, now: self.fixture.now))
        #expect(try await self.events().map(\.kind) == [.collected, .cancelled])
    }

    @Test func aDeviceThatIsRetiredIsAnEvent() async throws {
        let delivery = try await self.leased(1)
        let retired = try await self.store.retire(
            device: delivery.device,
            handle: "one",
            in: Lane(Platform("apns")),
            reason: "Unregistered",
            since: self.fixture.now,
            now: self.fixture.now
        )
        #expect(retired == self.device)
        let event = try #require(try await self.events().first)
        #expect(event.kind == .retired)
        #expect(event.device == self.device)
        #expect(event.platform == "apns")
        #expect(event.reason == "Unregistered")
        #expect(event.notification == nil)
    }

    @Test func eventsDoNotContainTheHostOfAProvider() async throws {
        let handle = try #require(DeviceHandle("two"))
        let id = try await self.store.requestRegistration(ofUser: self.alice.id, handle: nil, now: self.fixture.now)
        let lane = Lane(Platform("webpush"), part: "push.example.com")
        let registration = DeviceRegistration(platform: Platform("webpush"), lane: lane, handle: handle, tags: [])
        _ = try await self.store.register(registration, as: id, for: self.alice, now: self.fixture.now)
        try await self.fixture.post(1, from: self.paul, to: "username:alice")
        #expect(try await self.store.dismiss(self.id(1), by: self.alice.id, now: self.fixture.now))
        #expect(Set(try await self.events().map(\.platform)) == ["apns", "webpush"])
    }

    // MARK: Stored kinds

    @Test func eventsAreStoredOnlyIfEnabled() async throws {
        let fixture = try StoreFixture()
        let (paul, alice) = (try await fixture.addUser("paul", role: .publisher), try await fixture.addUser("alice"))
        try await fixture.addDevice(of: alice, handle: "one")
        try await fixture.post(1, from: paul, to: "username:alice")
        let delivery = try #require(try await fixture.lease().first)
        try await fixture.settle(delivery, as: .accepted(providerID: nil))
        let page = try await fixture.reader.events(after: nil, ofSender: nil, limit: 10)
        #expect(page == EventPage(events: [], end: 0, hasMore: false, isTruncated: false))
    }

    @Test(arguments: PushEvent.Kind.allCases)
    func onlyTheChosenKindsAreStored(kind: PushEvent.Kind) async throws {
        var options = StoreOptions()
        options.events = [kind]
        let fixture = try StoreFixture(options: options)
        let store = fixture.store
        let (paul, alice) = (try await fixture.addUser("paul", role: .publisher), try await fixture.addUser("alice"))
        try await fixture.addDevice(of: alice, handle: "one")
        for number in Int64(1)...5 { try await fixture.post(number, from: paul, to: "username:alice", expiresIn: 60) }
        let leased = try await fixture.lease(limit: 4)
        let ends: [Settlement] = [.accepted(providerID: nil), .failed(reason: "no"), .expired]
        for (delivery, end) in zip(leased, ends) { try await fixture.settle(delivery, as: end) }
        store.recordFetches(of: [leased[0].push.notification], by: alice.id, now: fixture.now)
        try await store.writeReceipts()
        _ = try await store.retire(
            device: leased[0].device,
            handle: "one",
            in: Lane(Platform("apns")),
            reason: "gone",
            since: fixture.now,
            now: fixture.now
        )
        fixture.clock.advance(by: 100)
        _ = try await store.deleteExpired(now: fixture.now, page: 100)
        let events = try await fixture.reader.events(after: nil, ofSender: nil, limit: 100).events
        // A second event of expiry belongs to the fourth push, which was being sent when its
        // notification expired.
        #expect(events.map(\.kind) == (kind == .expired ? [kind, kind] : [kind]))
    }

    // MARK: Reading

    @Test func thePagesTogetherFormTheWholeList() async throws {
        for number in Int64(1)...7 {
            try await self.fixture.settle(self.leased(number), as: .accepted(providerID: nil))
        }
        let whole = try await self.events()
        #expect(whole.map(\.number) == whole.map(\.number).sorted())
        #expect(whole.compactMap(\.notification?.rawValue) == Array(1...7))
        for size in 1...8 {
            var (events, cursor, hasMore) = ([PushEvent](), nil as Int64?, true)
            while hasMore {
                let page = try await self.page(after: cursor, limit: size)
                #expect(page.events.count == size || !page.hasMore)
                events += page.events
                (cursor, hasMore) = (page.end, page.hasMore)
            }
            #expect(events == whole)
        }
    }

    @Test func senderReadsItsOwnEventsAndSkipsOthers() async throws {
        let other = try await self.fixture.addUser("petra", role: .publisher)
        try await self.fixture.settle(self.leased(1), as: .accepted(providerID: nil))
        try await self.fixture.post(2, from: other, to: "username:alice")
        let delivery = try #require(try await self.fixture.lease().first)
        try await self.fixture.settle(delivery, as: .failed(reason: "no"))
        #expect(try await self.page(ofSender: self.paul).events.compactMap(\.notification?.rawValue) == [1])
        #expect(try await self.page(ofSender: other).events.compactMap(\.notification?.rawValue) == [2])
        let newest = try #require(try await self.events().last?.number)
        #expect(try await self.page(ofSender: self.paul).end == newest)
        let nobody = try await self.page(ofSender: self.alice)
        #expect(nobody == EventPage(events: [], end: newest, hasMore: false, isTruncated: false))
    }

    // MARK: Delivering and deleting

    @Test func eventNumbersContinueAfterARestartWithoutReuse() async throws {
        try await self.fixture.settle(self.leased(1), as: .accepted(providerID: nil))
        let first = try #require(try await self.events().last?.number)
        await self.store.close()
        let fixture = try self.fixture.reopened(options: .withEvents)
        try await fixture.post(2, from: self.paul, to: "username:alice")
        let delivery = try #require(try await fixture.lease().first)
        try await fixture.settle(delivery, as: .accepted(providerID: nil))
        let events = try await fixture.reader.events(after: first, ofSender: nil, limit: 10).events
        #expect(events.count == 1)
        // Each start skips numbers. Otherwise a database restored from before the first event
        // would give that event's number to another event.
        #expect(try #require(events.first).number > first + 1)
        #expect(try await fixture.reader.eventBacklog().count == 2)
        // This deletes the row for the first process's start and the event before the skipped
        // numbers.
        let trimmed = try await fixture.store.trimEvents(before: .distantFuture, limit: 2)
        #expect(trimmed.count == 2 && trimmed.undelivered == 1)
        #expect(try await fixture.reader.eventBacklog().count == 1)
        await fixture.store.close()
    }

    private func expectBacklog(of count: Int, since oldest: Date?) async throws {
        let backlog = try await self.fixture.reader.eventBacklog()
        #expect(backlog.count == count && backlog.oldest == oldest)
    }

    @Test func backlogCountsUndeliveredEvents() async throws {
        try await self.expectBacklog(of: 0, since: nil)
        let start = self.fixture.now
        for number in Int64(1)...4 {
            try await self.fixture.settle(self.leased(number), as: .accepted(providerID: nil))
            self.fixture.clock.advance(by: 1)
        }
        let events = try await self.events()
        for (index, event) in events.enumerated() {
            try await self.expectBacklog(of: 4 - index, since: start + Double(index))
            try await self.store.recordDelivered(eventsUpTo: event.number)
            #expect(try await self.fixture.reader.lastDeliveredEvent() == event.number)
        }
        try await self.expectBacklog(of: 0, since: nil)
        // A late answer to an earlier batch must not lower the number of the last delivered event.
        try await self.store.recordDelivered(eventsUpTo: events[0].number)
        #expect(try await self.fixture.reader.lastDeliveredEvent() == events[3].number)
    }

    private func expectTrim(before date: Date, limit: Int, deletes count: Int, undelivered: Int) async throws {
        let trimmed = try await self.store.trimEvents(before: date, limit: limit)
        #expect(trimmed.count == count && trimmed.undelivered == undelivered)
    }

    @Test func deletedEventsAreReportedToReaders() async throws {
        for number in Int64(1)...5 {
            try await self.fixture.settle(self.leased(number), as: .accepted(providerID: nil))
            self.fixture.clock.advance(by: 10)
        }
        let events = try await self.events()
        try await self.store.recordDelivered(eventsUpTo: events[0].number)
        // The row for the process's start has the machine's time, and not the test clock's, so it
        // is deleted first.
        _ = try await self.store.trimEvents(before: .distantFuture, limit: 1)
        let date = events[2].at + 1
        try await self.expectTrim(before: date, limit: 2, deletes: 2, undelivered: 1)
        try await self.expectTrim(before: date, limit: 2, deletes: 1, undelivered: 1)
        try await self.expectTrim(before: date, limit: 2, deletes: 0, undelivered: 0)
        #expect(try await self.events() == Array(events[3...]))
        #expect(try await self.page(after: events[0].number).isTruncated)
        #expect(try await !self.page(after: events[2].number).isTruncated)
        #expect(try await self.fixture.reader.eventBacklog().count == 2)
        // The newest event is never deleted, so that its number is not used again.
        while try await self.store.trimEvents(before: .distantFuture, limit: 2).count > 0 {}
        #expect(try await self.events() == [events[4]])
    }
}
