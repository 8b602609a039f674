import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct ReleaseScheduleTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// Waits for the schedule's signal. Without a signal, the test exceeds its time limit.
    private func expectSet(_ schedule: ReleaseSchedule) async {
        await schedule.signal.wait(atMost: .seconds(3600))
    }

    private func expectNotSet(_ schedule: ReleaseSchedule, sourceLocation: SourceLocation = #_sourceLocation) async {
        let timeout = Duration.milliseconds(50)
        let start = ContinuousClock.now
        await schedule.signal.wait(atMost: timeout)
        #expect(start.duration(to: .now) >= timeout, sourceLocation: sourceLocation)
    }

    @Test func onlyAnEarlierTimeWakesTheLoop() async {
        let schedule = ReleaseSchedule()
        schedule.begin()
        schedule.plan(Self.start + 10)
        schedule.record(Self.start + 10)
        schedule.record(Self.start + 11)
        await self.expectNotSet(schedule)
        schedule.record(Self.start + 9)
        await self.expectSet(schedule)
        schedule.record(Self.start + 9.5)
        await self.expectNotSet(schedule)
    }

    /// The notification is stored after the server has read the next due time from the store, and
    /// before the server plans its next check.
    @Test func timeNotedDuringAReadIsNotLost() async {
        let schedule = ReleaseSchedule()
        schedule.plan(Self.start)
        schedule.begin()
        schedule.record(Self.start + 5)
        schedule.plan(Self.start + 10)
        await self.expectSet(schedule)
    }
}
