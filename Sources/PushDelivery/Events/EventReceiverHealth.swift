internal import Foundation
internal import PushCore

/// Decides when the server may send events to the operator's receiver, by the receiver's answers
/// so far. This type makes no calls itself.
///
/// Messages are sent one after the other, and none during a pause. So each failure comes after the
/// end of the last delay, and begins a new one.
struct EventReceiverHealth {
    /// The first delay after a failed call, in seconds; each later delay is twice as long, up to
    /// `longestDelay`.
    static let firstDelay: TimeInterval = 1
    static let longestDelay: TimeInterval = 300
    /// The first delay, in seconds, after a refusal whose cause an operator must fix; each later
    /// delay is twice as long, up to `longestPause`.
    static let firstPause: TimeInterval = 60
    static let longestPause: TimeInterval = 900

    /// The current pause; `nil` while the receiver accepts events.
    private(set) var pause: Pause?
    private var failures = 0

    /// Records that the receiver has acknowledged a message.
    mutating func recordSuccess() {
        self = EventReceiverHealth()
    }

    /// Records a failure; `jitter` is a random number from 0 to 1.
    mutating func record(_ failure: SendFailure, now: Date, jitter: Double) {
        let (cause, delay): (Pause.Cause, TimeInterval) =
            switch failure {
            case .overloaded(_, let retryAfter):
                // The delay is lengthened by a random part, because other clients may wait for the
                // same moment.
                (.overloaded, retryAfter.timeInterval * (1 + jitter / 4))
            case .unavailable(_, let retryAfter, _):
                (.outage, max(self.length(Self.firstDelay, Self.longestDelay, jitter), retryAfter?.timeInterval ?? 0))
            case .misconfigured, .credentialExpired, .rejected, .kindRefused, .deviceBusy, .offline, .deviceGone,
                .deviceUnknown, .deviceNotFound, .credentialRefused:
                (.misconfigured, self.length(Self.firstPause, Self.longestPause, jitter))
            }
        self.pause = Pause(cause, reason: failure.reason, since: self.pause?.since ?? now, until: now + delay)
        self.failures += 1
    }

    /// A delay between half of a limit and the whole limit, chosen by `jitter`. The limit is
    /// `first`, doubled for each earlier failure, but at most `longest`.
    private func length(_ first: TimeInterval, _ longest: TimeInterval, _ jitter: Double) -> TimeInterval {
        min(first * pow(2, Double(min(self.failures, 20))), longest) * (0.5 + jitter / 2)
    }
}
