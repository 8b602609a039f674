import Foundation
import PushCore
import PushDelivery
import PushStore
import PushTesting
import Testing

/// The delivery service's own timer releases scheduled notifications at their times.
@Suite(.timeLimit(.minutes(5))) struct ReleaseLoopTests {
    private let rig: Rig
    private let paul: User

    init() async throws {
        self.rig = try Rig()
        self.paul = try await self.rig.fixture.addUser("paul", role: .publisher)
        for number in 0..<4 {
            let user = try await self.rig.fixture.addUser("user\(number)")
            try await self.rig.fixture.addDevice(of: user, handle: String(repeating: "0\(number)", count: 32))
        }
    }

    private func schedule(_ count: Int64, at date: Date) async throws {
        for number in 1...count {
            try await self.rig.fixture.post(number, from: self.paul, to: "username:user\(number % 4)", sendAt: date)
        }
    }

    private var accepted: Int {
        get async throws { try await self.rig.fixture.reader.tallies()["apns"]?.accepted ?? 0 }
    }

    /// A clock that runs from the fixture's time on.
    private func runningClock() -> @Sendable () -> Date {
        let (start, first) = (ContinuousClock.now, self.rig.fixture.now)
        return { first + start.duration(to: .now).timeInterval }
    }

    @Test func notificationsThatCameDueDuringDowntimeAreSentAtStart() async throws {
        try await self.schedule(300, at: self.rig.fixture.now + 60)
        self.rig.fixture.clock.advance(by: 600)
        try await self.rig.run { _, _ in
            try await eventually { try await self.accepted == 300 }
        }
    }

    /// The poll interval is long, so that only the timer can wake the loop.
    @Test func aScheduledNotificationIsSentAtItsTime() async throws {
        let now = self.runningClock()
        try await self.schedule(10, at: self.rig.fixture.now + 1)
        try await self.rig.run(settings: DeliverySettings(pollInterval: .seconds(3600)), now: now) { _, _ in
            #expect(try await self.accepted == 0)
            try await eventually { try await self.accepted == 10 }
            #expect(now() >= self.rig.fixture.now + 1)
        }
    }

    @Test func anEarlierScheduleWakesTheLoop() async throws {
        let (now, schedule) = (self.runningClock(), ReleaseSchedule())
        try await self.schedule(1, at: self.rig.fixture.now + 1000)
        let settings = DeliverySettings(pollInterval: .seconds(3600))
        try await self.rig.run(settings: settings, schedule: schedule, now: now) { _, _ in
            let date = now() + 0.5
            try await self.rig.fixture.post(2, from: self.paul, to: "username:user0", sendAt: date)
            schedule.record(date)
            try await eventually { try await self.accepted == 1 }
        }
    }

    @Test func aNotificationOfADeletedSenderIsLoggedAsNotSent() async throws {
        try await self.schedule(1, at: self.rig.fixture.now + 60)
        _ = try await self.rig.fixture.store.deleteUser(self.paul.name)
        self.rig.fixture.clock.advance(by: 60)
        try await self.rig.run { _, _ in
            try await eventually { self.rig.log.lines.contains { $0.contains("scheduled notification not sent") } }
        }
        #expect(try await self.rig.fixture.reader.schedule().count == 0)
    }
}
