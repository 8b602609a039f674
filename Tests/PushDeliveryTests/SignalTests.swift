import PushTesting
import Testing

@testable import PushCore
@testable import PushDelivery

@Suite(.timeLimit(.minutes(5))) struct SignalTests {
    /// Returns whether the signal ends a wait. If the signal is lost, the wait lasts until its
    /// limit.
    private func isHeard(_ signal: Signal) async -> Bool {
        let limit = Duration.seconds(30)
        let start = ContinuousClock.now
        await signal.wait(atMost: limit)
        return ContinuousClock.now - start < limit
    }

    @Test func aSignalSetBeforeTheWaitEndsIt() async {
        let signal = Signal()
        signal.set()
        signal.set()
        #expect(await self.isHeard(signal))
        // Two calls of `set()` end only one wait, because the signal was already set at the second
        // call.
        let start = ContinuousClock.now
        await signal.wait(atMost: .milliseconds(20))
        #expect(ContinuousClock.now - start >= .milliseconds(20))
    }

    @Test func aSignalSetDuringTheWaitEndsIt() async throws {
        let signal = Signal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { #expect(await self.isHeard(signal)) }
            try await eventually { signal.isAwaited }
            signal.set()
            try await group.waitForAll()
        }
    }

    @Test func aWaitWithoutASignalEndsAtItsTimeout() async {
        let start = ContinuousClock.now
        await Signal().wait(atMost: .milliseconds(20))
        #expect(ContinuousClock.now - start >= .milliseconds(20))
    }

    @Test func noSignalIsLostInThousandsOfWaits() async {
        let signal = Signal()
        let answered = Signal()
        await withTaskGroup { group in
            group.addTask {
                for number in 0..<2000 {
                    guard await self.isHeard(signal) else {
                        Issue.record("ring \(number) was lost")
                        return
                    }
                    answered.set()
                }
            }
            for number in 0..<2000 {
                signal.set()
                guard await self.isHeard(answered) else {
                    Issue.record("answer \(number) was lost")
                    return
                }
            }
        }
    }

    @Test func eachLoopHasItsOwnSignal() async {
        let wakeUp = WakeUp()
        let (first, second) = (wakeUp.makeSignal(), wakeUp.makeSignal())
        wakeUp()
        #expect(await self.isHeard(first))
        #expect(await self.isHeard(second))
    }
}
