import Foundation
import PushCore
import PushDelivery
import PushSimulators
import PushStore
import PushTesting
import Synchronization
import Testing

/// Tests pushes to valid tokens while other pushes go to tokens of the other environment or of
/// another app, and to retired or invented tokens.
@Suite(.timeLimit(.minutes(5))) struct EnvironmentLaneTests {
    private static let (production, sandbox) = (Lane(Platform("apns")), Lane(Platform("apns"), in: .sandbox))

    private let rig: Rig
    private var fixture: StoreFixture { self.rig.fixture }

    init() throws {
        self.rig = try Rig()
    }

    private func tally(_ lane: Lane) async throws -> Tally {
        try await self.fixture.reader.tallies()[lane.description] ?? Tally()
    }

    /// Reads the tallies of both environments at one instant. Between two reads, a push could move
    /// from one environment to the other, and neither read would count it.
    private func tallies() async throws -> (production: Tally, sandbox: Tally) {
        let all = try await self.fixture.reader.tallies()
        return (all[Self.production.description] ?? Tally(), all[Self.sandbox.description] ?? Tally())
    }

    /// Unless a push can be sent now, advances the clock to the time at which the next push is due
    /// and its lane is not paused. Returns whether the clock was advanced.
    @discardableResult
    private func skip(_ status: SenderStatus) async throws -> Bool {
        var next: Date?
        for lane in [Self.production, Self.sandbox] {
            let pause = status.pauseByLane[lane].flatMap(\.self)
            for queue in Queue.allCases {
                guard let due = try await self.fixture.reader.nextDue(in: lane, queue) else { continue }
                let date = max(due, pause?.until ?? due)
                if date <= self.fixture.now { return false }
                next = min(next ?? date, date)
            }
        }
        if let next { self.fixture.clock.advance(by: next.timeIntervalSince(self.fixture.now)) }
        return next != nil
    }

    private func environments(of user: User) async throws -> [PushEnvironment] {
        try await self.fixture.reader.devices(ofUser: user.id).map(\.environment)
    }

    @Test func aTokenOfTheOtherEnvironmentIsMovedThereAndLoggedOnce() async throws {
        let alice = try await self.fixture.addUser("alice")
        try await self.fixture.addDevice(of: alice, handle: "5a5a")
        self.rig.apns.devices.issue("5a5a", in: .sandbox, topic: self.rig.apns.credentials.topic)
        try await self.rig.run(concurrency: 1, hasSandbox: true) { wakeUp, status in
            for number: Int64 in 1...3 {
                try await self.fixture.post(number, from: alice, to: "username:alice")
                wakeUp()
                try await eventually { try await self.tally(Self.sandbox).accepted == Int(number) }
            }
            #expect(status.pauseByLane.values.allSatisfy { $0 == nil })
        }
        #expect(self.rig.apns.pushes.received.count == 1)
        #expect(self.rig.sandbox.pushes.acceptedCount == 3)
        #expect(try await self.environments(of: alice) == [.sandbox])
        let told = self.rig.log.lines.filter { $0.contains("moved to the other environment") }
        #expect(
            told == [
                "info device moved to the other environment, because the provider does not know it in this one "
                    + "lane=apns notification=1 other=apns/sandbox reason=BadDeviceToken"
            ]
        )
    }

    /// If neither environment knows a token, the answer of the device's own environment counts:
    /// the device is retired.
    @Test func anInventedTokenIsTriedInBothEnvironmentsAndRetired() async throws {
        let (alice, mallory) = (try await self.fixture.addUser("alice"), try await self.fixture.addUser("mallory"))
        try await self.fixture.addDevice(of: alice, handle: "a11ce0")
        let id = try await self.fixture.addDevice(of: mallory, handle: "dead")
        self.rig.apns.devices.issue("dead", in: .production, topic: "com.example.another")
        try await self.rig.run(concurrency: 1, hasSandbox: true) { wakeUp, _ in
            try await self.fixture.post(1, from: alice, to: "username:alice")
            wakeUp()
            try await eventually { try await self.tally(Self.production).accepted == 1 }
            try await self.fixture.post(2, from: mallory, to: "username:mallory")
            wakeUp()
            try await eventually { try await self.tally(Self.production).failed == 1 }
        }
        #expect(self.rig.apns.pushes.received.count == 3)
        #expect(self.rig.sandbox.pushes.received.count == 1)
        #expect(try await self.environments(of: mallory).isEmpty)
        #expect(
            self.rig.log.lines.contains {
                $0.hasPrefix("info device retired device=\(id) lane=apns notification=2 ")
                    && $0.hasSuffix(" user=mallory")
            }
        )
    }

    /// The operator has configured a wrong app, so Apple refuses all tokens. The lane is then
    /// paused, and no device may be moved or retired.
    @Test func devicesAndPushesAreKeptWhenAllTokensAreRefused() async throws {
        let refusal = Fault.answer(status: 400, body: #"{"reason":"DeviceTokenNotForTopic"}"#)
        for simulator in [self.rig.apns, self.rig.sandbox] { simulator.pushes.setFaults([FaultRule(refusal)]) }
        var users: [User] = []
        for number in 0..<40 {
            let user = try await self.fixture.addUser("user-\(number)")
            try await self.fixture.addDevice(of: user, handle: String(format: "a11ce0%04x", number))
            try await self.fixture.post(Int64(number + 1), from: user, to: "username:user-\(number)")
            users.append(user)
        }
        try await self.rig.run(concurrency: 1, hasSandbox: true) { [users] wakeUp, status in
            wakeUp()
            try await eventually { status.pauseByLane[Self.production].flatMap(\.self)?.cause == .devicesRefused }
            for simulator in [self.rig.apns, self.rig.sandbox] { simulator.pushes.setFaults([]) }
            try await eventually {
                try await self.skip(status)
                wakeUp()
                let (here, there) = try await self.tallies()
                #expect(here.failed == 0 && there.failed == 0)
                return here.accepted + there.accepted == users.count
            }
        }
    }

    /// There are a thousand valid devices, and 50 users with an invalid device each. One of these
    /// users has 20 more invalid devices.
    @Test func aThousandValidDevicesAreReachedDespiteFiftyInvalidOnes() async throws {
        let topic = self.rig.apns.credentials.topic
        let publisher = try await self.fixture.addUser("publisher", role: .publisher)
        try await self.fixture.addDevice(of: publisher, handle: "a11ce1")
        let good = try await self.fixture.addUser("good")
        for number in 0..<1000 {
            try await self.fixture.addDevice(of: good, handle: String(format: "a11ce0%04x", number), tags: ["all"])
        }
        for number in 0..<50 {
            let user = try await self.fixture.addUser("bad-\(number)")
            let handle = String(format: "bad0%04x", number)
            switch number % 3 {
            case 0: self.rig.apns.devices.issue(handle, in: .sandbox, topic: topic)
            case 1: self.rig.apns.devices.issue(handle, in: .production, topic: "com.example.another")
            default: self.rig.apns.retire(handle, at: self.fixture.now + 3600)
            }
            try await self.fixture.addDevice(of: user, handle: handle, tags: ["all"])
            guard number == 1 else { continue }
            for more in 0..<20 {
                let handle = String(format: "bad1%04x", more)
                self.rig.apns.devices.issue(handle, in: .production, topic: "com.example.another")
                try await self.fixture.addDevice(of: user, handle: handle, tags: ["all"])
            }
        }
        try await self.rig.run(concurrency: 50, hasSandbox: true) { wakeUp, status in
            try await self.fixture.post(1, from: publisher, to: "all")
            wakeUp()
            try await eventually { try await self.tally(Self.production).accepted == 1000 }
            // The last pushes all went to invalid devices. Until another push is accepted, the
            // service cannot know that these devices are at fault.
            let number = Counter()
            try await eventually {
                if try await self.skip(status) {
                    try await self.fixture.post(number.next(), from: publisher, to: "username:publisher")
                }
                wakeUp()
                let (here, there) = try await self.tallies()
                return here.pending == 0 && there.pending == 0
            }
            #expect(status.pauseCounts.values.allSatisfy { $0.isEmpty })
            #expect(try await self.tally(Self.sandbox).accepted == 17)
            let here = try await self.tally(Self.production)
            #expect(here.expired == 0 && here.failed > 0)
        }
        // All invalid devices are now removed or moved, so the next broadcast reaches no invalid
        // device.
        let asked = self.rig.apns.pushes.received.count
        let accepted = try await self.tally(Self.production).accepted
        try await self.rig.run(concurrency: 50, hasSandbox: true) { wakeUp, _ in
            try await self.fixture.post(2, from: publisher, to: "all")
            wakeUp()
            try await eventually { try await self.tally(Self.production).accepted == accepted + 1000 }
            try await eventually { try await self.tally(Self.sandbox).accepted == 34 }
        }
        #expect(self.rig.apns.pushes.received.count == asked + 1000)
    }

    /// Returns a new number for a notification at each call.
    private final class Counter: Sendable {
        private let number = Atomic<Int64>(1000)

        func next() -> Int64 { self.number.add(1, ordering: .relaxed).newValue }
    }
}
