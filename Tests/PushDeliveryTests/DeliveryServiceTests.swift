import Foundation
import PushCore
import PushDelivery
import PushSQLite
import PushSenders
import PushSimulators
import PushStore
import PushTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct DeliveryServiceTests {
    private let rig: Rig
    private var fixture: StoreFixture { self.rig.fixture }
    private var apns: APNsSimulator { self.rig.apns }

    init() throws {
        self.rig = try Rig()
    }

    /// Adds a user with `devices` devices, and a notification for them.
    private func fill(_ devices: Int, platform: String = "apns") async throws {
        let alice = try await fixture.addUser("alice")
        for number in 0..<devices {
            try await fixture.addDevice(of: alice, platform: platform, handle: String(format: "%04x", number))
        }
        // A test may advance its clock by many pauses.
        try await fixture.post(1, from: alice, to: "username:alice", expiresIn: 1e8)
    }

    @Test func pushesQueuedBeforeTheStartAreSent() async throws {
        // The service uses the real clock, so that a refused push becomes due again after its
        // delay: APNs may refuse a second stream until it has seen a valid token.
        self.fixture.clock.advance(by: Date().timeIntervalSince(self.fixture.now))
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abcd")
        for number in Int64(1)...20 { try await fixture.post(number, from: alice, to: "username:alice") }
        try await self.rig.run(now: { Date() }) { _, _ in
            _ = try await self.apns.pushes.acceptedPush(20)
        }
        #expect(try await self.fixture.nextDue() == nil)
        let ids = Set(self.apns.pushes.received.map { $0.request.header("apns-id") })
        #expect(ids.count == 20)
    }

    @Test func aNewNotificationIsSentAtTheWakeUp() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abcd")
        try await self.rig.run(settings: DeliverySettings(pollInterval: .seconds(3600))) { wakeUp, _ in
            try await self.fixture.post(1, from: alice, to: "username:alice")
            wakeUp()
            _ = try await self.apns.pushes.acceptedPush(1)
        }
    }

    @Test func anAcceptedPushIsLoggedWithItsTraceAndDuration() async throws {
        try await self.fill(2)
        let id = "4bf92f3577b34da6a3ce929d0e0e4736"
        let trace = try #require(TraceContext(traceparent: "00-\(id)-00f067aa0ba902b7-01"))
        self.rig.traces.record(trace, of: try #require(NotificationID(rawValue: 1)))
        self.rig.traces.sample(1)
        try await self.rig.run { _, status in
            _ = try await self.apns.pushes.acceptedPush(2)
            try await eventually { status.times[Lane(Platform("apns"))]?.total == 2 }
            #expect(status.times[Lane(Platform("other"))]?.total == 0)
        }
        let lines = self.rig.log.lines.filter { $0.contains("push accepted") }
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("info push accepted lane=apns milliseconds=") })
        #expect(lines.allSatisfy { $0.hasSuffix(" trace=\(id)") })
    }

    /// The reason that the provider gives is only in the log, and not in the span.
    @Test func aCallOfAProviderIsASpanUnderThePostOfItsNotification() async throws {
        let alice = try await self.fixture.addUser("alice")
        try await self.fixture.addDevice(of: alice, handle: "abcd")
        for number in Int64(1)...3 { try await self.fixture.post(number, from: alice, to: "username:alice") }
        let spans = try #require(self.rig.traces.spans)
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"
        // By its flag, the second post is not sampled. The third post belongs to no trace.
        for (number, flag) in [(Int64(1), "01"), (2, "00")] {
            let post = try #require(TraceContext(traceparent: "\(text)-\(flag)"))
            self.rig.traces.record(post, of: try #require(NotificationID(rawValue: number)))
        }
        self.apns.pushes.setFaults([FaultRule(.answer(status: 400, body: #"{"reason":"PayloadTooLarge"}"#))])
        try await self.rig.run { _, status in
            try await eventually { status.times[Lane(Platform("apns"))]?.total == 3 }
        }
        let span = try #require(spans.take().first)
        #expect(spans.take().isEmpty)
        #expect(span.name == "push apns" && span.kind == .client && span.isFailed)
        #expect(span.parent?.description == "00f067aa0ba902b7")
        #expect(span.context.trace.description == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(
            span.attributes == [.init("sealpost.lane", .text("apns")), .init("error.type", .text("rejected"))]
        )
    }

    /// Only this log line tells an operator why a device is not confirmed.
    @Test func aCodeThatIsNotAcceptedIsLoggedWithItsDeviceAndUser() async throws {
        let alice = try await self.fixture.addUser("alice")
        try await self.fixture.issue("d1", to: alice)
        _ = try await self.fixture.store.register(
            DeviceRegistration(
                platform: Platform("apns"),
                lane: Lane(Platform("apns")),
                handle: #require(DeviceHandle("abcd")),
                tags: [],
                confirmation: NotificationID(rawValue: 5)
            ),
            as: #require(RegistrationID("d1")),
            for: alice,
            now: self.fixture.now
        )
        self.apns.pushes.setFaults([FaultRule(.answer(status: 503, body: #"{"reason":"Shutdown"}"#))])
        try await self.rig.run { _, _ in
            try await eventually { self.rig.log.lines.contains { $0.contains("push not accepted") } }
        }
        let line = try #require(self.rig.log.lines.first { $0.contains("push not accepted") })
        #expect(line.hasPrefix("info push not accepted device=") && line.contains(" lane=apns "), "\(line)")
        #expect(line.contains(" notification=5 reason=Shutdown user=alice"), "\(line)")
        #expect(!line.contains("abcd"))
    }

    @Test func pushesWithoutASenderAreReportedAtTheStart() async throws {
        try await self.fill(2, platform: "gone")
        try await self.rig.run { _, _ in
            try await eventually { self.rig.log.lines.contains { $0.contains("without a sender") } }
        }
        #expect(
            self.rig.log.lines.filter { $0.contains("without a sender") } == [
                "warning pushes wait in a lane without a sender; configure the sender again, or they expire "
                    + "lane=gone pending=2"
            ]
        )
    }

    @Test func looksWithoutASenderAreDeletedAtTheStart() async throws {
        try await self.fill(120, platform: "gone/look")
        try await self.rig.run { _, _ in
            try await eventually { try await self.fixture.reader.tallies()["gone/look"]?.pending == 0 }
        }
        #expect(try await self.fixture.reader.tallies()["gone/look"]?.cancelled == 120)
        #expect(!self.rig.log.lines.contains { $0.contains("without a sender") })
    }

    @Test(.timeLimit(.minutes(5))) func settlingAPushWakesTheWatcherOfItsNotification() async throws {
        try await self.fill(1)
        let id = try #require(NotificationID(rawValue: 1))
        let settlements = SettlementWatch()
        try await settlements.watching(id, for: 1) { bell in
            try await self.rig.run(settlements: settlements) { _, _ in
                await bell?.wait(atMost: .seconds(3600))
                let tally = try await self.fixture.reader.tallies()["apns"]
                #expect(tally?.accepted == 1)
            }
        }
    }

    @Test func expiredPushesAreNotSent() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abcd")
        try await fixture.post(1, from: alice, to: "username:alice", expiresIn: 10)
        try await fixture.post(2, from: alice, to: "username:alice", expiresIn: 20)
        self.fixture.clock.advance(by: 10)
        try await self.rig.run { _, _ in _ = try await self.apns.pushes.acceptedPush(1) }
        #expect(self.apns.pushes.received.count == 1)
        #expect(
            self.apns.pushes.received.first.map { String(decoding: $0.request.body, as: UTF8.self) }?
                .contains("\"2\"") == true
        )
    }

    @Test func aPausedSenderKeepsItsQueueAndIsReported() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abcd")
        try await fixture.post(1, from: alice, to: "username:alice")
        self.apns.pushes.answerNext(status: 403, body: #"{"reason":"Forbidden"}"#)
        try await self.rig.run { _, status in
            try await eventually { Self.pause(status) != nil }
            #expect(Self.pause(status)?.cause == .misconfigured)
            #expect(Self.pause(status)?.reason == "Forbidden")
        }
        #expect(self.apns.pushes.received.count == 1)
        let due = try #require(try await self.fixture.nextDue())
        #expect(due == self.fixture.now + SenderHealth.firstPause)
    }

    /// Apple sometimes refuses a push although the provider token is valid.
    @Test func occasionalRefusalOfTheTokenPausesNothing() async throws {
        try await self.fill(100)
        let refusal = Fault.answer(status: 403, body: #"{"reason":"InvalidProviderToken"}"#)
        self.apns.pushes.setFaults([FaultRule(refusal, when: [.every(20)])])
        try await self.rig.run { wakeUp, status in
            try await eventually {
                self.fixture.clock.advance(by: 1)
                wakeUp()
                return self.apns.pushes.acceptedCount == 100
            }
            #expect(!Self.isPaused(status))
        }
        #expect(self.apns.pushes.received.count >= 105)
        #expect(!self.rig.log.lines.contains { $0.contains("lane paused") })
    }

    // MARK: Trouble

    @Test func aRetryAfterPausesTheLaneAndLosesNothing() async throws {
        try await self.fill(100)
        self.apns.pushes.setFaults([FaultRule(.answer(status: 503, retryAfter: .seconds(600)))])
        try await self.rig.run { wakeUp, status in
            try await eventually { Self.isPaused(status) }
            #expect(Self.pause(status)?.cause == .overloaded)
            self.fixture.clock.advance(by: 599)
            wakeUp()
            // As soon as a push to the second provider has completed, the service has also sent
            // all pushes that it may send to the first provider.
            try await self.pushToTheOther(wakeUp)
            #expect(self.apns.pushes.received.count <= 3)
            self.apns.pushes.setFaults([])
            // The answer to a push that was in flight may begin another pause at any time.
            try await eventually {
                self.fixture.clock.advance(by: Self.isPaused(status) ? 601 : 1)
                wakeUp()
                return self.apns.pushes.acceptedCount == 100
            }
        }
        #expect(try await fixture.reader.tallies()["apns"]?.accepted == 100)
        let ids = self.apns.pushes.received.filter(\.verdict.isAccepted).map { $0.request.header("apns-id") }
        #expect(Set(ids).count == 100)
    }

    /// The first push after a pause, the probe, expires after the service has taken it from the
    /// queue, and before the service sends it.
    @Test(.timeLimit(.minutes(5))) func theLaneResumesAfterALeasedProbeExpires() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abcd")
        try await fixture.post(1, from: alice, to: "username:alice", expiresIn: 10)
        self.apns.pushes.setFaults([FaultRule(.answer(status: 503, retryAfter: .seconds(60)))])
        let clock = self.fixture.clock
        let reader = Mutex(try #require(self.fixture.store.makeReader() as? SQLiteReader))
        let second = try #require(NotificationID(rawValue: 2))
        // The clock advances as soon as the service has leased the second push.
        let now: @Sendable () -> Date = {
            let isLeased = reader.withLock { reader in
                let values: [StoredValue] = [.integer(second.rawValue), .integer(0), .integer(1)]
                let found: [DeliveryEntry]? = try? reader.all(SQLiteReader.deliveries, values)
                return found?.first?.state == .sending
            }
            return isLeased ? clock.now + 10 : clock.now
        }
        try await self.rig.run(now: now) { wakeUp, status in
            try await eventually { Self.isPaused(status) }
            try await self.untilTallied { $0.expired == 1 }
            self.apns.pushes.setFaults([])
            clock.advance(by: 60)
            try await self.fixture.post(2, from: alice, to: "username:alice", expiresIn: 10)
            wakeUp()
            try await self.untilTallied { $0.expired == 2 }
            try await self.fixture.post(3, from: alice, to: "username:alice")
            wakeUp()
            _ = try await self.apns.pushes.acceptedPush(1)
        }
        let last = try #require(self.apns.pushes.received.last)
        #expect(String(decoding: last.request.body, as: UTF8.self).contains("\"3\""))
    }

    /// A call to the first provider lasts ten times as long as the test waits for the push to the
    /// second provider.
    @Test func aProviderThatNeverAnswersDelaysNoOther() async throws {
        try await self.fill(10)
        self.apns.pushes.setFaults([FaultRule(.noAnswer)])
        try await self.rig.run(timeout: .seconds(600), ending: { await $0.close() }) { wakeUp, _ in
            try await eventually { !self.apns.pushes.received.isEmpty }
            try await self.pushToTheOther(wakeUp)
        }
    }

    @Test func unsentLeasedPushesAreReleasedAtShutdown() async throws {
        try await self.fill(100)
        self.apns.pushes.setFaults([FaultRule(.answer(status: 503, retryAfter: .seconds(600)))])
        try await self.rig.run { _, status in
            try await eventually { Self.isPaused(status) }
        }
        let leased = try await fixture.lease()
        #expect(leased.count >= 97)
        #expect(leased.allSatisfy { $0.state.attempts == 1 })
    }

    @Test func anUnknownDeviceIsRetiredOnceAnotherIsReached() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "dead")
        let rule = FaultRule(.answer(status: 400, body: #"{"reason":"BadDeviceToken"}"#), when: [.device("dead")])
        self.apns.pushes.setFaults([rule])
        try await self.rig.run { wakeUp, _ in
            try await self.fixture.post(1, from: alice, to: "username:alice")
            wakeUp()
            try await eventually { self.apns.pushes.received.count == 1 }
            #expect(try await self.fixture.reader.devices(ofUser: alice.id).count == 1)
            let bob = try await self.fixture.addUser("bob")
            try await self.fixture.addDevice(of: bob, handle: "b0b0")
            try await self.fixture.post(2, from: alice, to: "username:bob")
            wakeUp()
            try await self.untilTallied { $0.accepted == 1 }
            try await self.fixture.post(3, from: alice, to: "username:alice")
            wakeUp()
            // The first push stayed in the queue. It is cancelled when its device is removed.
            try await self.untilTallied { $0.failed == 1 && $0.cancelled == 1 }
        }
        #expect(try await self.fixture.reader.devices(ofUser: alice.id).isEmpty)
    }

    @Test func aBroadcastReachesAllItsDevicesOnce() async throws {
        let alice = try await fixture.addUser("alice")
        for number in 0..<40 { try await fixture.addDevice(of: alice, handle: String(format: "%04x", number)) }
        try await fixture.post(1, from: alice, to: "username:alice", page: 5)
        try await self.rig.run(settings: DeliverySettings(inFlight: 7)) { _, _ in
            _ = try await self.apns.pushes.acceptedPush(40, within: .seconds(60))
        }
        let paths = self.apns.pushes.received.filter(\.verdict.isAccepted).map(\.request.path)
        #expect(Set(paths).count == 40)
        #expect(paths.count == 40)
        #expect(try await fixture.reader.tallies()["apns"]?.pending == 0)
    }

    private static func isPaused(_ status: SenderStatus) -> Bool {
        self.pause(status) != nil
    }

    private static func pause(_ status: SenderStatus) -> Pause? {
        status.pauseByLane[Lane(Platform("apns"))] ?? nil
    }

    private func pushToTheOther(_ wakeUp: WakeUp) async throws {
        let bob = try await fixture.addUser("bob")
        try await fixture.addDevice(of: bob, platform: "other", handle: "b0b0")
        try await fixture.post(1000, from: bob, to: "username:bob")
        wakeUp()
        _ = try await self.rig.other.pushes.acceptedPush(1, within: .seconds(60))
    }

    private func untilTallied(_ isSo: (Tally) -> Bool) async throws {
        try await eventually { try await isSo(self.fixture.reader.tallies()["apns"] ?? Tally()) }
    }
}
