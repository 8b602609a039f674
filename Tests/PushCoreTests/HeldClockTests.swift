import Foundation
import Synchronization
import Testing

@testable import PushCore

@Suite(.timeLimit(.minutes(5))) struct HeldClockTests {
    /// A machine whose clock and uptime are set by the test.
    private final class Machine: Sendable {
        private let state = Mutex((wall: Date(timeIntervalSince1970: 1_800_000_000), uptime: 5000.0))

        var wall: Date { self.state.withLock(\.wall) }
        var uptime: TimeInterval { self.state.withLock(\.uptime) }

        /// Advances the clock and the uptime.
        func wait(_ seconds: TimeInterval) {
            self.state.withLock { $0 = ($0.wall + seconds, $0.uptime + seconds) }
        }

        /// Moves only the clock.
        func step(_ seconds: TimeInterval) {
            self.state.withLock { $0.wall += seconds }
        }

        func restart() {
            self.state.withLock { $0.uptime = 10 }
        }

        func clock(after mark: HeldClock.Mark? = nil, boot: String = "one") -> HeldClock {
            HeldClock(after: mark, boot: boot, wall: { self.wall }, uptime: { self.uptime })
        }
    }

    private static let day: TimeInterval = 86_400
    private let machine = Machine()

    @Test(arguments: [0, 1, 60, 3600, -1, -3600, -400 * Self.day])
    func plausibleStepIsAccepted(seconds: TimeInterval) {
        let clock = self.machine.clock()
        self.machine.wait(500)
        self.machine.step(seconds)
        #expect(clock.held == nil)
        #expect(clock.now() == self.machine.wall)
    }

    @Test(arguments: [3601, Self.day, 100 * Self.day])
    func tooLargeStepIsRejected(seconds: TimeInterval) {
        let clock = self.machine.clock()
        self.machine.wait(500)
        let right = self.machine.wall
        self.machine.step(seconds)
        #expect(clock.now() == right)
        #expect(clock.held == seconds)
        self.machine.wait(45)
        #expect(clock.now() == right + 45)
        self.machine.step(-seconds)
        #expect(clock.now() == right + 45)
        #expect(clock.held == nil)
    }

    @Test func runningClockIsAcceptedHoweverRarelyItIsRead() {
        let clock = self.machine.clock()
        self.machine.wait(300 * Self.day)
        #expect(clock.now() == self.machine.wall)
    }

    /// Each step of the clock alone would be plausible, but together they must not move the clock
    /// far.
    @Test func smallStepsDoNotAddUp() {
        let clock = self.machine.clock()
        self.machine.step(3000)
        #expect(clock.now() == self.machine.wall)
        let right = self.machine.wall
        self.machine.step(3000)
        #expect(clock.held == 3000)
        #expect(clock.now() == right, "the time never goes back")
    }

    @Test(arguments: [false, true]) func stepsAroundAChangedReferenceDoNotAddUp(isRestarted: Bool) {
        var clock = self.machine.clock()
        self.machine.wait(HeldClock.referencePeriod - 5)
        for isHeld in [false, true] {
            self.machine.step(3000)
            if isRestarted { clock = self.machine.clock(after: clock.mark) }
            #expect((clock.held != nil) == isHeld)
            self.machine.wait(10)
            _ = clock.now()
        }
    }

    /// The reference time survives a restart of the process, and advances as if the process had
    /// continued.
    @Test func smallStepsDoNotAddUpOverRestarts() {
        var clock = self.machine.clock()
        for isHeld in [false, true, true] {
            self.machine.step(3000)
            clock = self.machine.clock(after: clock.mark)
            #expect((clock.held != nil) == isHeld)
        }
        #expect(clock.held == 6000)
        self.machine.step(-6000)
        for _ in 1...4 {
            self.machine.wait(HeldClock.referencePeriod / 2)
            clock = self.machine.clock(after: clock.mark)
        }
        self.machine.step(3600)
        #expect(clock.held == nil, "a new reference")
    }

    @Test func revertedStepDoesNotWidenTheTolerance() {
        let clock = self.machine.clock()
        for seconds in [3000.0, -3000] {
            self.machine.step(seconds)
            #expect(clock.now() == self.machine.wall)
        }
        self.machine.step(3601)
        #expect(clock.held == 3601)
    }

    @Test(arguments: [3000.0, -3000]) func theReferenceFollowsAfterADay(seconds: TimeInterval) {
        let clock = self.machine.clock()
        self.machine.step(seconds)
        for _ in 1...2 {
            self.machine.wait(HeldClock.referencePeriod)
            #expect(clock.now() == self.machine.wall)
        }
        self.machine.step(3600)
        #expect(clock.held == nil)
        self.machine.step(1)
        #expect(clock.held == 1)
    }

    @Test func aClockThatIsFarBehindMayBeSetRightLater() {
        let clock = self.machine.clock()
        self.machine.step(-400 * Self.day)
        self.machine.wait(2 * HeldClock.referencePeriod)
        #expect(clock.now() == self.machine.wall)
        #expect(clock.behind == 400 * Self.day)
        let next = self.machine.clock(after: clock.mark)
        for clock in [clock, next] { #expect(clock.behind == 400 * Self.day) }
        self.machine.step(400 * Self.day)
        for clock in [clock, next] { #expect(clock.held == nil && clock.behind == nil) }
    }

    @Test func acceptedClockIsUsed() {
        let clock = self.machine.clock()
        self.machine.step(100 * Self.day)
        clock.accept()
        #expect(clock.held == nil)
        #expect(clock.now() == self.machine.wall)
        self.machine.step(-100 * Self.day)
        #expect(clock.now() == self.machine.wall)
    }

    @Test func acceptanceOfAWrongClockCanBeReverted() {
        let clock = self.machine.clock()
        self.machine.step(100 * Self.day)
        clock.accept()
        self.machine.step(-100 * Self.day)
        clock.accept()
        self.machine.step(100 * Self.day)
        #expect(clock.held == 100 * Self.day)
    }

    /// A machine without a battery for its clock starts in 1970. The server may start before a
    /// time server corrects the clock.
    @Test func timeBeforeTheProgramDateMayStepForward() {
        let machine = self.machine
        machine.step(-1_800_000_000)
        let clock = machine.clock()
        machine.wait(60)
        machine.step(1_800_000_000)
        #expect(clock.held == nil)
        #expect(clock.now() == machine.wall)
        machine.step(2 * Self.day)
        #expect(clock.held == 2 * Self.day)
    }

    @Test func restartDoesNotAcceptAStep() {
        let before = self.machine.clock()
        self.machine.step(100 * Self.day)
        let right = before.now()
        let mark = before.mark
        self.machine.wait(60)
        let clock = self.machine.clock(after: mark)
        #expect(clock.now() == right + 60)
        #expect(clock.held == 100 * Self.day)
    }

    @Test(arguments: [(days: 6.9, isHeld: false), (days: 7.1, isHeld: true), (days: -1, isHeld: false)])
    func aMachineMayHaveBeenOffForAWeek(days: Double, isHeld: Bool) {
        let mark = self.machine.clock().mark
        self.machine.restart()
        self.machine.step(days * Self.day)
        let clock = self.machine.clock(after: mark, boot: "two")
        #expect((clock.held != nil) == isHeld)
        #expect(clock.now() == (isHeld ? mark.time : self.machine.wall))
    }

    /// A machine without a battery for its clock continues from the time of its shutdown, until a
    /// time server corrects the clock.
    @Test func aMachineWithoutAClockMayLearnTheTimeLater() {
        let mark = self.machine.clock().mark
        self.machine.restart()
        let clock = self.machine.clock(after: mark, boot: "two")
        self.machine.wait(30)
        self.machine.step(3 * Self.day)
        #expect(clock.held == nil)
        self.machine.wait(HeldClock.settlingTime)
        _ = clock.now()
        self.machine.step(3 * Self.day)
        #expect(clock.held == 3 * Self.day)
    }

    @Test func uptimeOfTheMachineNeverFalls() {
        let first = HeldClock.uptime()
        #expect(first > 0)
        #expect(HeldClock.uptime() >= first)
        #expect(!HeldClock.boot.isEmpty)
    }
}
