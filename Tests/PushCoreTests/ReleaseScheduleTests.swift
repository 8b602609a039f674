import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(2))) struct ReleaseScheduleTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// How long a wait for the signal takes.
    private func wait(_ schedule: ReleaseSchedule, atMost timeout: Duration) async -> Duration {
        let start = ContinuousClock.now
        await schedule.signal.wait(atMost: timeout)
        return start.duration(to: .now)
    }

    private func expectSet(_ schedule: ReleaseSchedule, sourceLocation: SourceLocation = #_sourceLocation) async {
        #expect(await self.wait(schedule, atMost: .seconds(60)) < .seconds(59), sourceLocation: sourceLocation)
    }

    private func expectNotSet(_ schedule: ReleaseSchedule, sourceLocation: SourceLocation = #_sourceLocation) async {
        let timeout = Duration.milliseconds(50)
        #expect(await self.wait(schedule, atMost: timeout) >= timeout, sourceLocation: sourceLocation)
    }

    @Test func onlyAnEarlierTimeWakesTheLoop() async {
        let schedule = ReleaseSchedule()
        schedule.begin()
        schedule.plan(Self.start + 10)
        schedule.note(Self.start + 10)
        schedule.note(Self.start + 11)
        await self.expectNotSet(schedule)
        schedule.note(Self.start + 9)
        await self.expectSet(schedule)
        schedule.note(Self.start + 9.5)
        await self.expectNotSet(schedule)
    }

    /// The loop has read the store before the notification was there, and plans afterwards.
    @Test func whatIsNotedWhileTheLoopLooksIsNotLost() async {
        let schedule = ReleaseSchedule()
        schedule.plan(Self.start)
        schedule.begin()
        schedule.note(Self.start + 5)
        schedule.plan(Self.start + 10)
        await self.expectSet(schedule)
    }
}
