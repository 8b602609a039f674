import Foundation
import PushCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct DeliveryStateTests {
    private let now = Date(timeIntervalSince1970: 1000)

    private func state(attempts: Int = 1, expiresIn: TimeInterval = 86_400) -> DeliveryState {
        DeliveryState(attempts: attempts, expiresAt: self.now + expiresIn)
    }

    private static func unavailable(_ retryAfter: Duration? = nil) -> SendOutcome {
        .failure(.unavailable(reason: "x", retryAfter: retryAfter))
    }

    private func retried(after wait: TimeInterval) -> Settlement {
        .retried(at: self.now + wait, reason: "x")
    }

    @Test func aPushIsSentUntilItExpires() {
        #expect(!self.state(expiresIn: 1).isExpired(now: self.now))
        #expect(self.state(expiresIn: 0).isExpired(now: self.now))
    }

    @Test(arguments: [(0.0, 60.0), (0.5, 67.5), (1, 75)])
    func jitterSpreadsRetriesAfterTheSameDelay(jitter: Double, wait: TimeInterval) {
        let outcome = SendOutcome.failure(.deviceBusy(reason: "b", retryAfter: .seconds(60)))
        #expect(
            self.state().settlement(of: outcome, blame: .unclear, now: self.now, jitter: jitter)
                == .retried(at: self.now + wait, reason: "b")
        )
    }

    @Test(arguments: [(1, 1.0), (2, 2), (3, 4), (10, 512), (11, 900), (12, 900), (1_000_000, 900)])
    func retryDelayDoublesUpToALimit(attempts: Int, wait: TimeInterval) {
        let state = self.state(attempts: attempts)
        #expect(
            state.settlement(of: Self.unavailable(), blame: .unclear, now: self.now, jitter: 1)
                == self.retried(after: wait)
        )
    }

    @Test(arguments: [(0.5, 8.0), (0, 0.1)])
    func jitterShortensADelayButNeverToZero(jitter: Double, wait: TimeInterval) {
        let state = self.state(attempts: 5)
        #expect(
            state.settlement(of: Self.unavailable(), blame: .unclear, now: self.now, jitter: jitter)
                == self.retried(after: wait)
        )
    }

    @Test func delayOfTheProviderIsTheMinimum() {
        let outcome = Self.unavailable(.seconds(60))
        #expect(
            self.state().settlement(of: outcome, blame: .unclear, now: self.now, jitter: 0) == self.retried(after: 60)
        )
    }

    @Test func onlyTheFirstRetryIsSparedTheDelay() {
        let outcome = SendOutcome.failure(.unavailable(reason: "x", retryAfter: .seconds(900), sparesFirst: true))
        let second = DeliveryState(attempts: 2, expiresAt: Self.at(87_400))
        #expect(
            second.settlement(of: outcome, blame: .unclear, now: self.now, jitter: 0)
                == .retried(at: Self.at(1900), reason: "x")
        )
    }

    /// A refused handle is a final failure only if the device is known to be the cause.
    @Test(arguments: [
        (SendFailure.deviceUnknown(reason: "r"), Blame.device, true), (.deviceUnknown(reason: "r"), .unclear, false),
        (.deviceUnknown(reason: "r"), .us, false), (.deviceGone(reason: "r"), .device, true),
        (.deviceGone(reason: "r"), .us, false),
    ])
    func failureThatMayBeOurFaultIsRetried(failure: SendFailure, blame: Blame, isFinal: Bool) {
        let settlement = self.state().settlement(of: .failure(failure), blame: blame, now: self.now, jitter: 0)
        let kept = Settlement.retried(at: Self.at(1000 + SenderHealth.firstPause), reason: "r")
        #expect(settlement == (isFinal ? .failed(reason: "r") : kept))
        #expect((failure.retirement(sentAt: self.now, blame: blame) != nil) == isFinal)
    }

    /// If the provider merely cannot find a device, the device is never retired. The push fails at
    /// the second attempt.
    @Test(arguments: [
        (1, Blame.device, false), (2, .device, true), (2, .unclear, false), (2, .us, false),
    ])
    func deviceThatIsNotFoundFailsAtTheSecondAttempt(attempts: Int, blame: Blame, isFinal: Bool) {
        let failure = SendFailure.deviceNotFound(reason: "n")
        let state = DeliveryState(attempts: attempts, expiresAt: self.now + 1000)
        let settlement = state.settlement(of: .failure(failure), blame: blame, now: self.now, jitter: 0)
        let kept = Settlement.retried(at: self.now + SenderHealth.firstPause, reason: "n")
        #expect(settlement == (isFinal ? .failed(reason: "n") : kept))
        #expect(failure.retirement(sentAt: self.now, blame: blame) == nil)
    }

    @Test func retryAfterTheExpiryExpiresThePush() {
        let outcome = Self.unavailable(.seconds(60))
        #expect(
            self.state(expiresIn: 60).settlement(of: outcome, blame: .unclear, now: self.now, jitter: 0) == .expired
        )
        #expect(
            self.state(expiresIn: 61).settlement(of: outcome, blame: .unclear, now: self.now, jitter: 0)
                == self.retried(after: 60)
        )
    }

    /// A push is sent at 1010. The last two values of a row are results of `retirement`: the first
    /// if the device is known to be the cause, and the second if it is not. With `nil`, the device
    /// is not retired.
    @Test(
        arguments: [
            (.success(Acceptance(providerID: "p")), .accepted(providerID: "p"), nil, nil),
            (.failure(.rejected(reason: "r")), .failed(reason: "r"), nil, nil),
            (.failure(.deviceGone(reason: "g")), .failed(reason: "g"), 1010, 1010),
            (.failure(.deviceGone(reason: "g", since: at(5))), .failed(reason: "g"), 5, 5),
            (.failure(.deviceGone(reason: "g", since: at(2000))), .failed(reason: "g"), 1010, 1010),
            (
                .failure(.deviceUnknown(reason: "u")), .retried(at: at(1000 + SenderHealth.firstPause), reason: "u"),
                1010,
                nil
            ),
            (.failure(.kindRefused(reason: "k")), .retried(at: at(1300), reason: "k"), nil, nil),
            (
                .failure(.unavailable(reason: "x", retryAfter: .seconds(900), sparesFirst: true)),
                .retried(at: at(1000.1), reason: "x"), nil, nil
            ),
            (
                .failure(.misconfigured(reason: "m")), .retried(at: at(1000 + SenderHealth.firstPause), reason: "m"),
                nil, nil
            ),
            (
                .failure(.credentialExpired(reason: "c")),
                .retried(at: at(1000 + SenderHealth.firstPause), reason: "c"),
                nil, nil
            ),
            (.failure(.credentialRefused(reason: "c")), .retried(at: at(1000.1), reason: "c"), nil, nil),
            (.failure(.offline(reason: "o")), .away(reason: "o"), nil, nil),
            (.failure(.unavailable(reason: "x")), .retried(at: at(1000.1), reason: "x"), nil, nil),
            (
                .failure(.overloaded(reason: "x", retryAfter: .seconds(9))), .retried(at: at(1009), reason: "x"), nil,
                nil
            ),
            (
                .failure(.deviceBusy(reason: "x", retryAfter: .seconds(9))), .retried(at: at(1009), reason: "x"), nil,
                nil
            ),
        ] as [(SendOutcome, Settlement, TimeInterval?, TimeInterval?)]
    )
    func eachOutcomeHasItsMeaningForPushAndDevice(
        outcome: SendOutcome,
        settlement: Settlement,
        retired: TimeInterval?,
        retiredIfUnclear: TimeInterval?
    ) {
        #expect(self.state().settlement(of: outcome, blame: .unclear, now: self.now, jitter: 0) == settlement)
        guard case .failure(let failure) = outcome else { return }
        let sentAt = Self.at(1010)
        #expect(failure.retirement(sentAt: sentAt, blame: .device) == retired.map(Self.at))
        #expect(failure.retirement(sentAt: sentAt, blame: .unclear) == retiredIfUnclear.map(Self.at))
    }

    private static func at(_ seconds: TimeInterval) -> Date {
        Date(timeIntervalSince1970: seconds)
    }
}
