import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Looks: pushes that tell a user's other devices to sync.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct LookTests {
    private static let interval = 10.0

    private let book = LookBook()
    private let fixture: StoreFixture
    private let alice: User
    private var store: any Store { self.fixture.store }

    init() async throws {
        var options = StoreOptions()
        options.streamLanes = ["stream", "stream/look"]
        options.looks = [
            "apns": .seconds(Self.interval), "bank:apns": .seconds(Self.interval), "fcm": .seconds(Self.interval),
            "stream": .seconds(1),
        ]
        options.lookBook = self.book
        self.fixture = try StoreFixture(options: options)
        self.alice = try await self.fixture.addUser("alice")
    }

    @discardableResult
    private func look(_ session: TokenPrefix? = nil, isUrgent: Bool = false) async throws -> Bool {
        try await self.store.enqueueLooks(
            [LookOrder(user: self.alice.id, app: .usual, session: session?.description, isUrgent: isUrgent)],
            makeID: { NotificationID(rawValue: .random(in: 1..<1 << 31)) },
            now: self.fixture.now
        )
    }

    private func lease(_ lane: String = "apns/look", limit: Int = 100) async throws -> [LeasedDelivery] {
        try await self.store.lease(LeaseRequest(limit, from: Lane(stored: lane), .direct), now: self.fixture.now)
    }

    private func due(_ lane: String = "apns/look") async throws -> TimeInterval? {
        try await self.fixture.reader.nextDue(in: Lane(stored: lane), .direct).map {
            $0.timeIntervalSince(self.fixture.now)
        }
    }

    private func tally(_ lane: String = "apns/look") async throws -> Tally? {
        try await self.fixture.reader.tallies()[lane]
    }

    private func addSession() async throws -> TokenPrefix {
        let now = self.fixture.now
        let session = try await self.store.addSession(for: self.alice, scopes: .all, expiresAt: now + 1000, now: now)
        return try #require(session).token.prefix
    }

    @discardableResult
    private func addDevice(_ handle: String, with session: TokenPrefix?) async throws -> RegistrationID {
        let id = try await self.store.requestRegistration(ofUser: self.alice.id, handle: nil, now: self.fixture.now)
        let registration = DeviceRegistration(
            platform: Platform("apns"),
            lane: Lane(Platform("apns")),
            handle: try #require(DeviceHandle(handle)),
            tags: []
        )
        _ = try await self.store.register(registration, as: id, for: self.alice, with: session, now: self.fixture.now)
        return id
    }

    @Test func aLookIsAPushInALaneOfItsOwnThatDelaysNoNotification() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.fixture.addDevice(of: self.alice, platform: "webpush", handle: "two")
        #expect(try await self.look())
        #expect(try await self.lease().isEmpty)
        self.fixture.clock.advance(by: 2)
        let push = try #require(try await self.lease().first)
        #expect(push.push.handle == "one" && push.push.priority == .normal && push.push.alert == nil)
        try await self.fixture.settle(push, as: .accepted(providerID: nil))
        var expected = Tally()
        (expected.enqueued, expected.accepted) = (1, 1)
        #expect(try await self.tally() == expected)
        #expect(try await self.fixture.reader.tallies().count == 1)
        // Even just after a look (silent push), the push of a notification is due at once. A later
        // look does not replace this push.
        try await self.fixture.post(1, from: self.alice, to: "username:alice", platforms: ["apns"])
        #expect(try await self.look())
        let leased = try await self.fixture.lease(interval: .seconds(1200))
        #expect(leased.map(\.push.notification.rawValue) == [1])
    }

    @Test func aStormOfChangesCostsOnePushAnInterval() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        for number in 0..<3 {
            for _ in 0..<50 { try await self.look() }
            #expect(try await self.tally()?.pending == 1)
            self.fixture.clock.advance(by: try #require(try await self.due()))
            let push = try #require(try await self.lease().first)
            try await self.fixture.settle(push, as: .accepted(providerID: nil))
            #expect(try await self.tally()?.accepted == number + 1)
            #expect(try await self.tally()?.enqueued == number + 1)
        }
        // After the last push, the look (silent push) for another change is due only when
        // `interval` seconds have passed.
        #expect(try await self.look())
        #expect(try await self.due() == Self.interval)
    }

    @Test func aChangeDuringASendMakesAnotherLook() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.look()
        self.fixture.clock.advance(by: 2)
        let first = try #require(try await self.lease().first)
        #expect(try await self.look())
        try await self.fixture.settle(first, as: .retried(at: self.fixture.now + 1, reason: "busy"))
        self.fixture.clock.advance(by: Self.interval)
        let second = try #require(try await self.lease().first)
        #expect(second.push.notification != first.push.notification)
        #expect(try await self.tally()?.cancelled == 1)
    }

    @Test func theDatabaseHasOneLookOfADevice() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        var last: NotificationID?
        for _ in 0..<3 {
            try await self.look()
            self.fixture.clock.advance(by: Self.interval + 2)
            let push = try #require(try await self.lease().first)
            try await self.fixture.settle(push, as: .accepted(providerID: nil))
            if let last { #expect(try await self.fixture.reader.summary(of: last) == nil) }
            last = push.push.notification
        }
        #expect(try await self.fixture.reader.summary(of: try #require(last)) != nil)
    }

    /// If looks (silent pushes) without a recorded outcome stayed, those for an event stream that
    /// nobody reads would fill the database.
    @Test func aLookThatIsNeverSettledIsDeletedSoonAfterTheNext() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        var ids: [NotificationID] = []
        for _ in 0..<3 {
            try await self.look()
            self.fixture.clock.advance(by: Self.interval + 2)
            ids.append(try #require(try await self.lease().first).push.notification)
        }
        while try await self.store.deleteExpired(now: self.fixture.now, page: 10) {}
        for (id, isLast) in zip(ids, [false, false, true]) {
            #expect(try await (self.fixture.reader.summary(of: id) != nil) == isLast)
        }
        let tally = try #require(try await self.tally())
        #expect(tally.expired == 2 && tally.pending == 1)
    }

    @Test func theDevicesOfTheSessionThatMadeTheChangeGetNoLook() async throws {
        let (own, other) = (try await self.addSession(), try await self.addSession())
        for (handle, session) in [("own", own), ("other", other), ("password", nil)] {
            try await self.addDevice(handle, with: session)
        }
        #expect(try await self.look(own))
        self.fixture.clock.advance(by: 2)
        #expect(try await self.lease().map(\.push.handle).sorted() == ["other", "password"])
    }

    @Test func aDeviceThatHasSynchronisedGetsNoLook() async throws {
        let session = try await self.addSession()
        try await self.addDevice("one", with: session)
        try await self.fixture.post(1, from: self.alice, to: "username:alice", platforms: ["none"])
        let change = try await self.fixture.reader.newestChange(ofUser: self.alice.id)
        func sync(_ change: Int64) async throws {
            let sync = LookSync(user: self.alice.id, app: .usual, session: session.description, change: change)
            try await self.store.cancelLooks(of: [sync], now: self.fixture.now)
        }
        try await self.look()
        // A list of another app does not contain it either.
        let other = LookSync(
            user: self.alice.id,
            app: try #require(AppName("bank")),
            session: session.description,
            change: change
        )
        try await self.store.cancelLooks(of: [other], now: self.fixture.now)
        // A list from before the change does not contain it, so fetching that list must not cancel
        // the look (silent push).
        try await sync(0)
        #expect(try await self.tally()?.pending == 1)
        try await sync(change)
        #expect(try await self.tally()?.pending == 0)
        #expect(try await self.tally()?.cancelled == 1)
    }

    @Test func anUrgentLookGoesAtOnceAndWithHighPriority() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.look()
        #expect(try await self.look(isUrgent: true))
        let push = try #require(try await self.lease().first)
        #expect(push.push.priority == .high)
        try await self.fixture.settle(push, as: .accepted(providerID: nil))
        // Many recalls in a row cause only one push per second.
        for _ in 0..<10 { try await self.look(isUrgent: true) }
        #expect(try await self.due() == 1)
        #expect(try await self.tally()?.enqueued == 3)
    }

    /// Fails the last look twice, so that its next retry is 900 seconds later.
    private func failLook() async throws {
        self.fixture.clock.advance(by: 2)
        for seconds in [1.0, 900] {
            let push = try #require(try await self.lease().first)
            try await self.fixture.settle(push, as: .retried(at: self.fixture.now + seconds, reason: "busy"))
            self.fixture.clock.advance(by: 1)
        }
    }

    @Test(arguments: [(false, 8.0, Push.Priority.normal), (true, 0, .high)])
    func aChangeDoesNotWaitForTheRetryOfALook(isUrgent: Bool, due: Double, priority: Push.Priority) async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.look()
        try await self.failLook()
        #expect(try await self.look(isUrgent: isUrgent))
        #expect(try await self.due() == due)
        self.fixture.clock.advance(by: due)
        let push = try #require(try await self.lease().first)
        #expect(push.push.priority == priority && push.state.attempts == 1)
        #expect(try await self.tally()?.pending == 1)
    }

    @Test func aLookThatWaitsForItsRetryIsSentWhenItsDeviceRegisters() async throws {
        let id = try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.look()
        let registration = DeviceRegistration(
            platform: Platform("apns"),
            lane: Lane(Platform("apns")),
            handle: try #require(DeviceHandle("one")),
            tags: []
        )
        func register() async throws {
            _ = try await self.store.register(registration, as: id, for: self.alice, now: self.fixture.now)
        }
        // A registration makes no look earlier that was not tried yet: the interval holds.
        try await register()
        #expect(try await self.due() == 2)
        try await self.failLook()
        #expect(try await self.due() == 899)
        try await register()
        #expect(try await self.lease().count == 1)
    }

    /// An app that was installed again may register its handle under a new id.
    @Test func aWaitingLookMovesToTheNewRegistrationOfItsHandle() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.look()
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        self.fixture.clock.advance(by: 2)
        let push = try #require(try await self.lease().first)
        #expect(push.push.handle == "one")
        try await self.fixture.settle(push, as: .accepted(providerID: nil))
        #expect(try await self.tally()?.enqueued == 1)
        #expect(try await self.look())
        #expect(try await self.due() == Self.interval)
    }

    @Test func aChangeConcernsOnlyTheDevicesOfItsApp() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.fixture.addDevice(of: self.alice, platform: "bank:apns", handle: "two")
        let apps: [AppName] = [.usual, try #require(AppName("bank"))]
        func look(_ apps: [AppName]) async throws {
            _ = try await self.store.enqueueLooks(
                apps.map { LookOrder(user: self.alice.id, app: $0) },
                makeID: { NotificationID(rawValue: .random(in: 1..<1 << 31)) },
                now: self.fixture.now
            )
            self.fixture.clock.advance(by: Self.interval + 2)
        }
        for (app, lane) in zip(apps, ["apns/look", "bank:apns/look"]) {
            try await look([app])
            #expect(try await self.fixture.reader.tallies().mapValues(\.pending).filter { $0.value > 0 } == [lane: 1])
            let push = try #require(try await self.lease(lane).first)
            #expect(try await self.fixture.reader.summary(of: push.push.notification)?.app == app)
            try await self.fixture.settle(push, as: .accepted(providerID: nil))
        }
        // The looks of two apps have different ids: a common id would link the apps' devices.
        try await look(apps)
        let ids = [try await self.lease().first, try await self.lease("bank:apns/look").first]
        #expect(Set(ids.compactMap { $0?.push.notification }).count == 2)
    }

    @Test func aLookLivesAsLongAsTheOptionsSay() async throws {
        var options = StoreOptions()
        options.looks = ["apns": .seconds(10)]
        options.lookLifetime = .seconds(86_400)
        let fixture = try StoreFixture(options: options)
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "one")
        _ = try await fixture.store.enqueueLooks(
            [LookOrder(user: alice.id, app: .usual, isUrgent: true)],
            makeID: { NotificationID(rawValue: 7) },
            now: fixture.now
        )
        let summary = try await fixture.reader.summary(of: try #require(NotificationID(rawValue: 7)))
        #expect(summary?.expiresAt == fixture.now + 86_400)
    }

    @Test func aLookMovesWithItsDevice() async throws {
        let id = try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.look()
        let registration = DeviceRegistration(
            platform: Platform("fcm"),
            lane: Lane(Platform("fcm")),
            handle: try #require(DeviceHandle("two")),
            tags: []
        )
        _ = try await self.store.register(registration, as: id, for: self.alice, now: self.fixture.now)
        #expect(try await self.lease("fcm").isEmpty)
        #expect(try await self.lease("fcm/look").map(\.push.handle) == ["two"])
        #expect(try await self.tally("apns/look")?.pending == 0)
    }

    @Test func aDeviceWithoutAStreamGetsNoLook() async throws {
        try await self.fixture.addDevice(of: self.alice, platform: "stream", handle: "one")
        #expect(try await !self.look())
    }

    @Test func theRecipientsOfAnExpiredNotificationMustLookUnlessTheyHaveReadIt() async throws {
        let (bob, carol) = (try await self.fixture.addUser("bob"), try await self.fixture.addUser("carol"))
        try await self.fixture.post(1, from: self.alice, to: "username:alice", "username:bob", "username:carol")
        let id = try #require(NotificationID(rawValue: 1))
        _ = try await self.store.mark(id, as: .read, by: bob.id, ifStill: nil, now: self.fixture.now)
        _ = try await self.store.dismiss(id, by: carol.id, ifStill: nil, recording: nil, now: self.fixture.now)
        self.fixture.clock.advance(by: 3601)
        while try await self.store.deleteExpired(now: self.fixture.now, page: 1) {}
        #expect(self.book.take().orders == [LookOrder(user: self.alice.id, app: .usual)])
    }

    /// A request may contain an id twice, and a client may repeat the request after a lost answer.
    @Test func onlyNotificationsThatWereUnreadChange() async throws {
        for number in [1, 2] as [Int64] {
            try await self.fixture.post(number, from: self.alice, to: "username:alice")
        }
        let ids = [1, 2].compactMap { NotificationID(rawValue: $0) }
        let rows: [([NotificationID], Set<AppName>)] = [
            ([ids[0]], [.usual]), ([ids[0]], []), (ids, [.usual]), (ids, []),
        ]
        for (marked, apps) in rows {
            let found = try await self.store.markRead(marked, by: self.alice, now: self.fixture.now)
            #expect(found.read == marked && found.changedApps == apps)
        }
    }

    @Test func theDevicesOfAUserWhoseLeaseEndsMustLook() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice", isReadOnce: true)
        let id = try #require(NotificationID(rawValue: 1))
        let now = self.fixture.now
        _ = try await self.store.lease(id, to: self.alice.id, until: now + 60, recording: nil, now: now)
        _ = try await self.store.endLeases(now: now + 61, limit: 10)
        #expect(self.book.take().orders == [LookOrder(user: self.alice.id, app: .usual)])
    }
}
