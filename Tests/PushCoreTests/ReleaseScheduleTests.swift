import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(1))) struct ReleaseScheduleTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// Whether the signal was set; waits no longer than it must.
    private func isSet(_ schedule: ReleaseSchedule) async -> Bool {
        let start = ContinuousClock.now
        await schedule.signal.wait(atMost: .milliseconds(50))
        return start.duration(to: .now) < .milliseconds(50)
    }

    @Test func onlyAnEarlierTimeWakesTheLoop() async {
        let schedule = ReleaseSchedule()
        schedule.begin()
        schedule.plan(Self.start + 10)
        schedule.note(Self.start + 10)
        schedule.note(Self.start + 11)
        #expect(await !self.isSet(schedule))
        schedule.note(Self.start + 9)
        #expect(await self.isSet(schedule))
        schedule.note(Self.start + 9.5)
        #expect(await !self.isSet(schedule))
    }

    /// The loop has read the store before the notification was there, and plans afterwards.
    @Test func whatIsNotedWhileTheLoopLooksIsNotLost() async {
        let schedule = ReleaseSchedule()
        schedule.plan(Self.start)
        schedule.begin()
        schedule.note(Self.start + 5)
        schedule.plan(Self.start + 10)
        #expect(await self.isSet(schedule))
    }
}
