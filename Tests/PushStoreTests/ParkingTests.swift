import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Parked pushes, which wait until their device connects, moves or is deleted.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct ParkingTests {
    private let fixture: StoreFixture
    private let alice: User
    private let device: RegistrationID

    init() async throws {
        var options = StoreOptions()
        options.streamLanes = ["stream"]
        self.fixture = try StoreFixture(options: options)
        self.alice = try await self.fixture.addUser("alice")
        self.device = try await self.fixture.addDevice(of: self.alice, platform: "stream", handle: "one")
    }

    private func wake(_ device: RegistrationID) async throws -> Int {
        try await self.fixture.store.makeDue(for: [device], ofUser: self.alice.id, after: nil, now: self.fixture.now)
    }

    @Test func connectingDeviceFindsEachParkedPushOnce() async throws {
        for number: Int64 in 1...3 { try await self.fixture.post(number, from: self.alice, to: "username:alice") }
        #expect(try await self.fixture.reader.tallies()["stream"]?.pending == 3)
        #expect(try await self.fixture.nextDue("stream") == nil)
        #expect(try await self.wake(self.device) == 3)
        #expect(try await self.wake(self.device) == 0)
        try await self.fixture.post(4, from: self.alice, to: "username:alice")
        #expect(try await self.wake(self.device) == 1)
        let (store, now) = (self.fixture.store, self.fixture.now)
        try await self.fixture.post(5, from: self.alice, to: "username:alice")
        #expect(try await store.streamOpened(for: [self.device], ofUser: self.alice.id, after: nil, now: now) == 1)
        #expect(try await self.fixture.lease("stream").count == 5)
    }

    /// The pushes of one user, who may have many, must not go before all pushes to other users.
    @Test func waitingPushesToOneUserBecomeDueAHundredAtATime() async throws {
        let (store, now) = (self.fixture.store, self.fixture.now)
        let bob = try await self.fixture.addUser("bob")
        let another = try await self.fixture.addDevice(of: self.alice, platform: "stream", handle: "two")
        let other = try await self.fixture.addDevice(of: bob, platform: "stream", handle: "other")
        for number: Int64 in 1...60 { try await self.fixture.post(number, from: bob, to: "username:alice") }
        try await self.fixture.post(61, from: self.alice, to: "username:bob")
        // A new stream does not hasten pushes that are due soon.
        for (device, count) in [(self.device, 60), (another, 60), (another, 0)] {
            let opened = try await store.streamOpened(for: [device], ofUser: self.alice.id, after: nil, now: now)
            #expect(opened == count)
        }
        #expect(try await store.streamOpened(for: [other], ofUser: bob.id, after: nil, now: now) == 1)
        let first = try await self.fixture.lease("stream", limit: 200)
        #expect(first.count { $0.user == self.alice.id } == 100)
        #expect(first.count { $0.user == bob.id } == 1)
        self.fixture.clock.advance(by: 1)
        #expect(try await self.fixture.lease("stream", limit: 200).count == 20)
    }

    /// On SQLite, the writes of all other users wait for the transaction.
    @Test func aPageOfWaitingPushesBecomesDueAtATime() async throws {
        var devices = [self.device]
        for number in 1...20 {
            devices.append(try await self.fixture.addDevice(of: self.alice, platform: "stream", handle: "\(number)"))
        }
        for number: Int64 in 1...50 { try await self.fixture.post(number, from: self.alice, to: "username:alice") }
        var pages: [[Int64]] = []
        for count in [WakePace.page, 50, 0] {
            let (store, now) = (self.fixture.store, self.fixture.now)
            let opened = try await store.streamOpened(for: devices, ofUser: self.alice.id, after: nil, now: now)
            #expect(opened == count)
            self.fixture.clock.advance(by: 2)
            pages.append(try await self.fixture.lease("stream", limit: 2000).map(\.push.notification.rawValue))
        }
        // Each notification becomes due for all devices at about the same time: a stream of
        // several devices then sends it once.
        #expect(pages.map(\.count) == [WakePace.page, 50, 0])
        #expect(pages[0].max() == 48 && pages[1].min() == 48)
    }

    /// An operator who asks why a push waits must not read that its device is away.
    @Test func aPushToADeviceThatHasConnectedWaitsForNoStream() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        let id = try #require(NotificationID(rawValue: 1))
        let parked = try await self.fixture.reader.deliveries(of: id, after: 0, limit: 2)
        #expect(parked.map(\.reason) == [PushReason.away])
        #expect(try await self.wake(self.device) == 1)
        let due = try await self.fixture.reader.deliveries(of: id, after: 0, limit: 2)
        #expect(due.map(\.reason) == [nil])
    }

    /// Marking a notification as read gives it a higher change number. The search for parked
    /// (waiting) pushes begins at a lower number, and must still find the push of the
    /// notification.
    @Test func parkedPushOfAReadNotificationIsFound() async throws {
        for number: Int64 in 1...2 { try await self.fixture.post(number, from: self.alice, to: "username:alice") }
        let id = try #require(NotificationID(rawValue: 1))
        _ = try await self.fixture.store.mark(id, as: .read, by: self.alice.id, now: self.fixture.now)
        #expect(try await self.wake(self.device) == 2)
    }

    /// The search for parked (waiting) pushes begins at the last change that the device has seen.
    /// A page of the fan-out may have made the user a recipient before that change, for another
    /// device.
    @Test func parkedPushToADeviceOfALaterPageIsFound() async throws {
        let other = try await self.fixture.addDevice(of: self.alice, platform: "stream", handle: "two")
        try await self.fixture.post(1, from: self.alice, to: "username:alice", page: 1)
        #expect(try await self.wake(self.device) == 1)
        #expect(try await self.wake(other) == 0)
        while try await self.fixture.store.expandFanout(page: 1, now: self.fixture.now) != nil {}
        #expect(try await self.wake(other) == 1)
    }

    enum End: CaseIterable {
        case device, user, address, lane
    }

    @Test(arguments: End.allCases) func parkedPushEndsWithItsDeviceUserOrLane(end: End) async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        let (store, now) = (self.fixture.store, self.fixture.now)
        var expected = Tally()
        expected.enqueued = 1
        expected.cancelled = 1
        switch end {
        case .device: #expect(try await store.unregister(self.device, ofUser: self.alice.id))
        case .user: #expect(try await store.deleteUser(self.alice.name) == .done)
        case .address:
            // Another device of the user registers the same handle.
            try await self.fixture.addDevice(of: self.alice, platform: "stream", handle: "one")
        case .lane:
            let handle = try #require(DeviceHandle("token"))
            let registration = DeviceRegistration(
                platform: Platform("apns"),
                lane: Lane(Platform("apns")),
                handle: handle,
                tags: []
            )
            let outcome = try await store.register(registration, as: self.device, for: self.alice, now: now)
            #expect(outcome == .registered(moved: 1))
            #expect(try await self.fixture.lease("apns").map(\.push.handle) == ["token"])
        }
        #expect(try await self.wake(self.device) == 0)
        #expect(try await self.fixture.reader.tallies()["stream"] == expected)
    }

    @Test func expiredParkedPushIsCounted() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice", expiresIn: 10)
        while try await self.fixture.store.deleteExpired(now: self.fixture.now + 11, page: 10) {}
        #expect(try await self.fixture.reader.tallies()["stream"]?.expired == 1)
    }
}
