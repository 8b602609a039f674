import Foundation
import PushCore
import Testing

@testable import PushDelivery

@Suite struct EventReceiverHealthTests {
    private let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// Records `count` failures, each at the end of the previous pause. Returns the lengths of the
    /// pauses.
    private func delays(_ failure: SendFailure, _ count: Int, jitter: Double) -> [TimeInterval] {
        var (health, now) = (EventReceiverHealth(), self.start)
        return (0..<count).map { _ in
            health.record(failure, now: now, jitter: jitter)
            let until = health.pause?.until ?? now
            defer { now = until }
            return until.timeIntervalSince(now)
        }
    }

    @Test func anOutageIsRetriedWithAGrowingBackoff() {
        let failure = SendFailure.unavailable(reason: "HTTP 500")
        #expect(self.delays(failure, 10, jitter: 1) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300])
        #expect(self.delays(failure, 10, jitter: 0) == [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 150])
        #expect(self.delays(failure, 60, jitter: 1).last == 300)
    }

    @Test func aMisconfigurationIsRetriedRarely() {
        let failure = SendFailure.misconfigured(reason: "HTTP 401")
        #expect(self.delays(failure, 6, jitter: 1) == [60, 120, 240, 480, 900, 900])
    }

    @Test(arguments: [
        (SendFailure.overloaded(reason: "HTTP 429", retryAfter: .seconds(40)), 0.0, 40.0, Pause.Cause.overloaded),
        (.overloaded(reason: "HTTP 429", retryAfter: .seconds(40)), 1, 50, .overloaded),
        (.unavailable(reason: "HTTP 500", retryAfter: .seconds(40)), 0, 40, .outage),
        (.unavailable(reason: "HTTP 500", retryAfter: .zero), 0, 0.5, .outage),
    ])
    func theReceiversRetryAfterIsTheShortestDelay(
        failure: SendFailure,
        jitter: Double,
        rest: TimeInterval,
        cause: Pause.Cause
    ) {
        var health = EventReceiverHealth()
        health.record(failure, now: self.start, jitter: jitter)
        #expect(health.pause?.until == self.start + rest)
        #expect(health.pause?.cause == cause)
        #expect(health.pause?.since == self.start)
    }

    @Test func aSuccessResetsTheBackoff() {
        var health = EventReceiverHealth()
        let failure = SendFailure.unavailable(reason: "HTTP 500")
        for _ in 0..<5 { health.record(failure, now: self.start, jitter: 1) }
        health.recordSuccess()
        #expect(health.pause == nil)
        health.record(failure, now: self.start, jitter: 1)
        #expect(health.pause?.until == self.start + 1)
    }
}
