import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct DeliveryStateTests {
    private let now = Date(timeIntervalSince1970: 1000)

    private func state(attempts: Int = 1, expiresIn: TimeInterval = 86_400) -> DeliveryState {
        DeliveryState(attempts: attempts, expiresAt: self.now + expiresIn)
    }

    @Test func aClaimedPushIsSentUntilItExpires() {
        #expect(self.state(expiresIn: 1).on(.claimed, now: self.now, jitter: 0) == .send)
        #expect(self.state(expiresIn: 0).on(.claimed, now: self.now, jitter: 0) == .expire)
    }

    @Test(arguments: [(1, 1.0), (2, 2), (3, 4), (10, 512), (11, 900), (12, 900), (1_000_000, 900)])
    func eachWaitIsTwiceTheLastUpToABound(attempts: Int, wait: TimeInterval) {
        let event = DeliveryState.Event.failed(.unavailable(reason: "x"))
        #expect(
            self.state(attempts: attempts).on(event, now: self.now, jitter: 1)
                == .retry(at: self.now + wait, reason: "x")
        )
    }

    @Test func jitterShortensAWaitButNeverToNothing() {
        let event = DeliveryState.Event.failed(.unavailable(reason: "x"))
        #expect(
            self.state(attempts: 5).on(event, now: self.now, jitter: 0.5) == .retry(at: self.now + 8, reason: "x")
        )
        #expect(
            self.state(attempts: 5).on(event, now: self.now, jitter: 0) == .retry(at: self.now + 0.1, reason: "x")
        )
    }

    @Test func theProvidersOwnWaitIsTheLeast() {
        let event = DeliveryState.Event.failed(.unavailable(reason: "x", retryAfter: .seconds(60)))
        #expect(self.state().on(event, now: self.now, jitter: 0) == .retry(at: self.now + 60, reason: "x"))
    }

    @Test func aRetryThatWouldComeTooLateIsNone() {
        let event = DeliveryState.Event.failed(.unavailable(reason: "x", retryAfter: .seconds(60)))
        #expect(self.state(expiresIn: 60).on(event, now: self.now, jitter: 0) == .expire)
        #expect(self.state(expiresIn: 61).on(event, now: self.now, jitter: 0) != .expire)
    }

    @Test func eachOtherAnswerHasItsAction() {
        let state = self.state()
        let since = Date(timeIntervalSince1970: 5)
        #expect(state.on(.accepted(Acceptance(providerID: "p")), now: now, jitter: 0) == .accept(providerID: "p"))
        #expect(state.on(.failed(.rejected(reason: "r")), now: now, jitter: 0) == .fail(reason: "r"))
        #expect(
            state.on(.failed(.deviceGone(reason: "g", since: since)), now: now, jitter: 0)
                == .retireDevice(reason: "g", since: since)
        )
        #expect(
            state.on(.failed(.misconfigured(reason: "m")), now: now, jitter: 0)
                == .retry(at: self.now + SenderHealth.pause, reason: "m")
        )
        #expect(state.on(.failed(.deviceUnknown(reason: "u")), now: now, jitter: 0) == .suspectDevice(reason: "u"))
        #expect(state.on(.failed(.offline(reason: "o")), now: now, jitter: 0) == .park(reason: "o"))
        for failure in [
            SendFailure.overloaded(reason: "x", retryAfter: .seconds(9)),
            .deviceBusy(reason: "x", retryAfter: .seconds(9)),
        ] {
            #expect(state.on(.failed(failure), now: now, jitter: 0) == .retry(at: self.now + 9, reason: "x"))
        }
    }
}
