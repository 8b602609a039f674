import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@Suite(.eachStore, .timeLimit(.minutes(5))) struct StreamStoreTests {
    private let fixture: StoreFixture
    private let alice: User
    private let device: RegistrationID

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        self.device = try await self.fixture.addDevice(of: self.alice, platform: "stream", handle: "one")
    }

    private func makeDue(after last: Int64? = nil) async throws -> Int {
        try await self.fixture.store.makeDue(
            for: [self.device],
            ofUser: self.alice.id,
            after: last.flatMap { NotificationID(rawValue: $0) },
            now: self.fixture.now
        )
    }

    /// Posts notifications to alice, takes (leases) their pushes, and records their outcome.
    private func post(_ numbers: Int64..., as settlement: Settlement) async throws {
        for number in numbers {
            try await self.fixture.post(number, from: self.alice, to: "username:alice")
            for delivery in try await self.fixture.lease("stream") {
                try await self.fixture.settle(delivery, as: settlement)
            }
            self.fixture.clock.advance(by: 1)
        }
    }

    private func claimed() async throws -> [Int64] {
        try await self.fixture.lease("stream").map(\.push.notification.rawValue).sorted()
    }

    @Test func connectingDeviceMakesOnlyItsOwnPushesDue() async throws {
        let other = try await self.fixture.addDevice(of: self.alice, platform: "stream", handle: "two")
        try await self.post(1, as: .retried(at: self.fixture.now + 600, reason: "no event stream is open"))
        #expect(try await self.fixture.reader.isAnythingWaiting(for: [other], now: self.fixture.now))
        #expect(try await self.fixture.reader.isAnythingWaiting(for: [self.device], now: self.fixture.now))
        #expect(try await self.claimed() == [])
        #expect(try await self.makeDue() == 1)
        #expect(try await self.fixture.reader.isAnythingWaiting(for: [other], now: self.fixture.now))
        #expect(try await !self.fixture.reader.isAnythingWaiting(for: [self.device], now: self.fixture.now))
        #expect(try await self.fixture.lease("stream").map(\.push.handle) == ["one"])
    }

    /// The push must not be due before its device connects. Otherwise the server would take the
    /// push, find no stream, and write the push again.
    @Test func pushToADeviceThatIsAwayIsDueWhenItConnects() async throws {
        var options = StoreOptions()
        options.streamLanes = ["stream"]
        let hub = options.streams
        let fixture = try StoreFixture(options: options)
        let store = fixture.store
        let alice = try await fixture.addUser("alice")
        let (there, away) = (
            try await fixture.addDevice(of: alice, platform: "stream", handle: "there"),
            try await fixture.addDevice(of: alice, platform: "stream", handle: "away")
        )
        let handle = try #require(DeviceHandle(there.description))
        let stream = try #require(hub.open([handle], ofUser: alice.id))
        let now = fixture.now
        #expect(try await store.streamOpened(for: [there], ofUser: alice.id, after: nil, now: now) == 0)
        try await fixture.post(1, from: alice, to: "username:alice")
        #expect(try await fixture.lease("stream").map(\.push.handle) == ["there"])
        #expect(try await fixture.nextDue("stream") == nil)
        #expect(try await store.makeDue(for: [there], ofUser: alice.id, after: nil, now: now) == 0)
        #expect(try await store.streamOpened(for: [away], ofUser: alice.id, after: nil, now: now) == 1)
        #expect(try await fixture.lease("stream").map(\.push.handle) == ["away"])
        withExtendedLifetime(stream) {}
        await store.close()
    }

    /// The server has tried to send the push, and has recorded that the device is away.
    @Test func pushThatFoundItsDeviceAwayIsDueWhenItConnects() async throws {
        try await self.post(1, as: .away(reason: "no event stream is open"))
        #expect(try await self.claimed() == [])
        #expect(try await self.makeDue() == 1)
        #expect(try await self.claimed() == [1])
    }

    @Test func pushesThatHaveWaitedKeepTheOrderOfTheirPosts() async throws {
        try await self.post(3, 1, 2, as: .away(reason: "no event stream is open"))
        #expect(try await self.makeDue() == 3)
        #expect(try await self.fixture.lease("stream").map(\.push.notification.rawValue) == [3, 1, 2])
    }

    @Test func pushesAcceptedAfterTheLastSeenAreSentAgain() async throws {
        try await self.post(1, 2, 3, 4, as: .accepted(providerID: Acceptance.byStream))
        try await self.post(5, as: .failed(reason: "x"))
        self.fixture.store.recordFetch(of: try #require(NotificationID(rawValue: 3)), by: self.alice.id, now: .now)
        try await self.fixture.store.writeReceipts()
        #expect(try await self.makeDue(after: 2) == 1)
        #expect(try await self.claimed() == [4])
    }

    /// One transaction enqueues only a page of them.
    @Test func severalPagesOfLostPushesAreSentAgain() async throws {
        let (fixture, alice) = (self.fixture, self.alice)
        var devices = [self.device]
        for number in 1..<20 {
            devices.append(try await fixture.addDevice(of: alice, platform: "stream", handle: "\(number)"))
        }
        let count = WakePace.page / devices.count + 2
        for number in 1...count {
            try await fixture.post(Int64(number), from: alice, to: "username:alice")
            let accepted = try await fixture.lease("stream").map {
                ($0, Settlement.accepted(providerID: Acceptance.byStream))
            }
            try await fixture.store.settle(accepted, now: fixture.now)
        }
        let last = try #require(NotificationID(rawValue: 1))
        _ = try await fixture.store.makeDue(for: devices, ofUser: alice.id, after: last, now: fixture.now)
        let tally = try #require(try await fixture.reader.tallies()["stream"])
        #expect(tally.pending == (count - 1) * devices.count)
    }

    @Test func repeatedPushIsCountedAgain() async throws {
        try await self.post(1, 2, as: .accepted(providerID: Acceptance.byStream))
        #expect(try await self.makeDue(after: 1) == 1)
        let tally = try #require(try await self.fixture.reader.tallies()["stream"])
        #expect(tally.enqueued == 3)
        #expect(tally.accepted == 2)
        #expect(tally.pending == 1)
    }

    @Test(arguments: [9, nil] as [Int64?]) func unknownLastSeenRepeatsNothing(last: Int64?) async throws {
        try await self.post(1, 2, as: .accepted(providerID: Acceptance.byStream))
        #expect(try await self.makeDue(after: last) == 0)
    }

    @Test func expiredPushIsNotSentAgain() async throws {
        try await self.post(1, 2, as: .accepted(providerID: Acceptance.byStream))
        self.fixture.clock.advance(by: 3600)
        #expect(try await self.makeDue(after: 1) == 0)
    }
}
