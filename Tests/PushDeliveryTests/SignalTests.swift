import PushCore
import Testing

@testable import PushDelivery

@Suite(.timeLimit(.minutes(5))) struct SignalTests {
    @Test func aBellRungBeforeIsHeard() async {
        let signal = Signal()
        signal.set()
        signal.set()
        await signal.wait(atMost: .seconds(60))
        // Once: the second ring was the same.
        let start = ContinuousClock.now
        await signal.wait(atMost: .milliseconds(20))
        #expect(ContinuousClock.now - start >= .milliseconds(20))
    }

    @Test func aBellRungMeanwhileEndsTheWait() async {
        let signal = Signal()
        await withTaskGroup { group in
            group.addTask { await signal.wait(atMost: .seconds(60)) }
            await Task.yield()
            signal.set()
        }
    }

    @Test func aSilentBellEndsTheWaitAtItsTime() async {
        let start = ContinuousClock.now
        await Signal().wait(atMost: .milliseconds(20))
        #expect(ContinuousClock.now - start >= .milliseconds(20))
    }

    @Test func noRingIsLostBetweenThousandsOfWaits() async {
        let signal = Signal()
        let answered = Signal()
        await withTaskGroup { group in
            group.addTask {
                for _ in 0..<2000 {
                    await signal.wait(atMost: .seconds(60))
                    answered.set()
                }
            }
            for _ in 0..<2000 {
                signal.set()
                await answered.wait(atMost: .seconds(60))
            }
        }
    }

    @Test func eachLoopHasItsOwnBell() async {
        let wakeUp = WakeUp()
        let (first, second) = (wakeUp.makeSignal(), wakeUp.makeSignal())
        wakeUp()
        await first.wait(atMost: .seconds(60))
        await second.wait(atMost: .seconds(60))
    }
}
