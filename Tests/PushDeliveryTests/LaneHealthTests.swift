import Foundation
import PushCore
import PushDelivery
import PushSimulators
import PushStore
import PushTesting
import Testing

/// Tests how a provider's refusals of unknown devices affect pushes to these and to other devices.
@Suite(.timeLimit(.minutes(5))) struct LaneHealthTests {
    private static let refusal = Fault.answer(status: 400, body: #"{"reason":"BadDeviceToken"}"#)
    private static let lane = Lane(Platform("apns"))

    private let rig: Rig
    private var fixture: StoreFixture { self.rig.fixture }
    private var apns: APNsSimulator { self.rig.apns }

    init() throws {
        self.rig = try Rig()
    }

    /// Adds users with a device each. The handles of the devices begin with `prefix`.
    private func addUsers(_ count: Int, prefix: String) async throws -> [User] {
        var users: [User] = []
        for number in 0..<count {
            let user = try await self.fixture.addUser("\(prefix)-\(number)")
            try await self.fixture.addDevice(of: user, handle: prefix + String(format: "%04x", number))
            users.append(user)
        }
        return users
    }

    private func post(_ number: Int64, to user: User) async throws {
        try await self.fixture.post(number, from: user, to: "username:\(user.name)")
    }

    private func untilTallied(_ isSo: (Tally) -> Bool) async throws {
        try await eventually { try await isSo(self.fixture.reader.tallies()["apns"] ?? Tally()) }
    }

    private static func pause(_ status: SenderStatus) -> Pause? {
        status.pauseByLane[self.lane] ?? nil
    }

    /// The handles for which the provider has got pushes, in the order of arrival.
    private var asked: [String] {
        self.apns.pushes.received.map { String($0.request.path.dropFirst("/3/device/".count)) }
    }

    @Test func inventedDevicesOfOneUserFailWithoutPausingTheLane() async throws {
        let mallory = try await self.fixture.addUser("mallory")
        for number in 0..<30 {
            try await self.fixture.addDevice(of: mallory, handle: String(format: "dead%04x", number))
        }
        let alice = try await self.addUsers(1, prefix: "a11ce0")[0]
        self.apns.pushes.setFaults([FaultRule(Self.refusal, when: [.device("dead")])])
        // The service sends one push at a time. Before APNs has seen a valid token, it may refuse
        // a second stream, and the service would retry that push later.
        try await self.rig.run(concurrency: 1) { wakeUp, status in
            try await self.post(1, to: mallory)
            wakeUp()
            try await eventually { self.asked.count == 30 }
            try await self.post(2, to: alice)
            wakeUp()
            _ = try await self.apns.pushes.acceptedPush(1)
            #expect(try await self.fixture.reader.tallies()["apns"]?.failed == 0)
            self.fixture.clock.advance(by: SenderHealth.firstPause)
            wakeUp()
            try await self.untilTallied { $0.failed == 30 }
            #expect(status.pauseCounts == [Self.lane: [:], Lane(Platform("other")): [:]])
        }
        // When pushes reach other devices, the service knows that the refused devices are at
        // fault, and retires them.
        #expect(try await self.fixture.reader.devices(ofUser: mallory.id).isEmpty)
        let warnings = self.rig.log.lines.filter { $0.hasPrefix("warning") }
        #expect(
            warnings == [
                "warning device refused before any push was accepted; the device's handle or the sender's configuration is wrong "
                    + "lane=apns reason=BadDeviceToken"
            ]
        )
    }

    @Test func theLanePausesAndKeepsItsQueueWhenNoDeviceIsReached() async throws {
        let users = try await self.addUsers(20, prefix: "dead")
        self.apns.pushes.setFaults([FaultRule(Self.refusal)])
        try await self.rig.run(concurrency: 1) { wakeUp, status in
            for (number, user) in users.enumerated() { try await self.post(Int64(number + 1), to: user) }
            wakeUp()
            try await eventually { Self.pause(status) != nil }
            #expect(Self.pause(status)?.cause == .devicesRefused)
            #expect(status.pauseCounts[Self.lane] == [.devicesRefused: 1])
            // The operator corrects the cause of the refusals.
            self.apns.pushes.setFaults([])
            self.fixture.clock.advance(by: SenderHealth.firstPause)
            wakeUp()
            _ = try await self.apns.pushes.acceptedPush(20, within: .seconds(60))
            try await self.untilTallied { $0.accepted == 20 && $0.failed == 0 }
            #expect(Self.pause(status) == nil)
        }
        #expect(
            self.rig.log.lines.filter { $0.contains("lane ") } == [
                "warning lane paused cause=devices_refused lane=apns "
                    + "reason=devices of 5 users in a row refused, none accepted: BadDeviceToken "
                    + "until=2027-01-15T08:01:00Z",
                "notice lane resumed cause=devices_refused lane=apns",
            ]
        )
    }

    @Test func devicesAreKeptOnceManyUsersInARowAreReportedGone() async throws {
        let users = try await self.addUsers(30, prefix: "a11ce0")
        let gone = Fault.answer(status: 410, body: #"{"reason":"Unregistered"}"#)
        self.apns.pushes.setFaults([FaultRule(gone)])
        try await self.rig.run(concurrency: 1) { wakeUp, _ in
            for (number, user) in users.enumerated() { try await self.post(Int64(number + 1), to: user) }
            wakeUp()
            try await eventually { self.asked.count == 30 }
            // The operator removes the proxy that has refused the pushes.
            self.apns.pushes.setFaults([])
            try await eventually {
                // The service may record the last answer only now. The push with this answer is
                // then due only after a new delay, so the clock must advance again.
                let due = try await self.fixture.reader.nextDue(in: Self.lane, .direct)
                if let due, due > self.fixture.now {
                    self.fixture.clock.advance(by: due.timeIntervalSince(self.fixture.now))
                }
                wakeUp()
                return try await self.fixture.reader.tallies()["apns"]?.accepted == 11
            }
            #expect(try await self.fixture.reader.tallies()["apns"]?.failed == 19)
        }
        let warnings = self.rig.log.lines.filter { $0.hasPrefix("warning") }
        #expect(warnings.count == 1 && warnings[0].contains("devices of many users in a row as gone"), "\(warnings)")
    }

    @Test func probesGoToDevicesThatWereAcceptedBefore() async throws {
        let mallory = try await self.fixture.addUser("mallory")
        for number in 0..<30 {
            try await self.fixture.addDevice(of: mallory, handle: String(format: "dead%04x", number))
        }
        let users = try await self.addUsers(2, prefix: "a11ce0")
        let overloaded = FaultRule(.answer(status: 503, retryAfter: .seconds(60)))
        let refused = FaultRule(Self.refusal, when: [.device("dead")])
        try await self.rig.run { wakeUp, status in
            try await self.post(1, to: users[0])
            wakeUp()
            // The store records the accepted push a moment after the provider's answer.
            try await self.untilTallied { $0.accepted == 1 }
            self.apns.pushes.setFaults([overloaded])
            try await self.post(2, to: users[1])
            wakeUp()
            try await eventually { Self.pause(status) != nil }
            // All pushes to the hostile user's devices are older than the push to another user.
            try await self.post(3, to: mallory)
            try await self.post(4, to: mallory)
            self.fixture.clock.advance(by: 1)
            try await self.post(5, to: users[0])
            self.apns.pushes.setFaults([refused])
            self.fixture.clock.advance(by: 60)
            wakeUp()
            _ = try await self.apns.pushes.acceptedPush(3)
            #expect(Self.pause(status) == nil)
        }
        let (first, second) = ("a11ce00000", "a11ce00001")
        #expect(self.asked.first == first)
        let afterThePause = try #require(self.asked.firstIndex(of: second)) + 1
        #expect(self.asked[afterThePause] == first)
    }
}
