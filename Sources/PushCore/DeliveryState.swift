package import Foundation

/// The state of one push to one device. It only decides what the outcome of an attempt means for
/// the push. Its callers store the result.
package struct DeliveryState: Sendable, Hashable {
    /// The number of attempts to send the push, including the running attempt.
    package let attempts: Int
    package let expiresAt: Date

    package init(attempts: Int, expiresAt: Date) {
        self.attempts = attempts
        self.expiresAt = expiresAt
    }

    /// The first delay before a retry, in seconds; each later delay is twice as long, up to
    /// `longestWait`.
    package static let firstWait: TimeInterval = 1
    package static let longestWait: TimeInterval = 900
    /// The delay before a retry if the provider refuses all devices of one kind, because of a
    /// fault that an operator must repair.
    private static let waitForKind = Duration.seconds(300)
    /// If a provider requests a delay, the server lengthens the delay by at most this share of it.
    package static let longestSpread = 0.25

    package func isExpired(now: Date) -> Bool {
        now >= self.expiresAt
    }

    /// The result to store for an attempt with this outcome.
    ///
    /// - Parameters:
    ///   - blame: Whether the device or the server is at fault if the provider does not know the
    ///     device.
    ///   - jitter: A random number from 0 to 1. It varies each delay, so that many pushes are not
    ///     retried at the same time.
    package func settlement(of outcome: SendOutcome, blame: Blame, now: Date, jitter: Double) -> Settlement {
        switch outcome {
        case .success(let acceptance):
            return .accepted(providerID: acceptance.providerID)
        case .failure(.rejected(let reason)):
            return .failed(reason: reason)
        case .failure(.deviceUnknown(let reason)) where blame == .device,
            .failure(.deviceGone(let reason, _)) where blame != .us:
            return .failed(reason: reason)
        // The push fails only if a retry gets this answer: at the first attempt, a front end of
        // the provider may have given it by mistake.
        case .failure(.deviceNotFound(let reason)) where blame == .device && self.attempts > 1:
            return .failed(reason: reason)
        case .failure(.credentialRefused(let reason)):
            // The push is retried without a minimum delay: only the provider's next answer shows
            // whether the pushes to the provider must pause.
            return self.retry(reason, atLeast: .zero, now: now, jitter: jitter)
        case .failure(.misconfigured(let reason)), .failure(.credentialExpired(let reason)),
            .failure(.deviceNotFound(let reason)),
            .failure(.deviceUnknown(let reason)), .failure(.deviceGone(let reason, _)):
            // As far as the server knows, the push is not at fault. It is sent after the provider
            // accepts pushes of this server again.
            return self.retry(reason, atLeast: .seconds(Int64(SenderHealth.firstPause)), now: now, jitter: jitter)
        case .failure(.kindRefused(let reason)):
            return self.retry(reason, atLeast: Self.spread(Self.waitForKind, jitter), now: now, jitter: jitter)
        case .failure(.offline(let reason)):
            // The push is not retried until the device connects; then it becomes due.
            return .away(reason: reason)
        case .failure(.unavailable(let reason, _, sparesFirst: true)) where self.attempts <= 1:
            return self.retry(reason, atLeast: .zero, now: now, jitter: jitter)
        case .failure(.unavailable(let reason, let retryAfter, _)):
            return self.retry(reason, atLeast: Self.spread(retryAfter ?? .zero, jitter), now: now, jitter: jitter)
        case .failure(.deviceBusy(let reason, let retryAfter)):
            return self.retry(reason, atLeast: Self.spread(retryAfter, jitter), now: now, jitter: jitter)
        case .failure(.overloaded(let reason, let retryAfter)):
            // The pushes to the provider pause for the delay that it has requested. Then only one
            // push is sent at first.
            return self.retry(reason, atLeast: retryAfter, now: now, jitter: jitter)
        }
    }

    /// The result to store for a look: a silent push that makes a device fetch changes.
    /// `settlement` is the result that the push of a notification would have. A look is retried
    /// only a few times, since the next change causes another look. A device that is not connected
    /// needs no retry: it fetches changes when it connects.
    package func settlementOfLook(_ settlement: Settlement) -> Settlement {
        switch settlement {
        case .away: .expired
        case .retried(_, let reason) where self.attempts >= Self.attemptsOfLook: .failed(reason: reason)
        default: settlement
        }
    }

    private static let attemptsOfLook = 3

    /// Lengthens a delay that a provider requests. Many pushes get the same delay, and must not
    /// all be retried at the same moment.
    private static func spread(_ wait: Duration, _ jitter: Double) -> Duration {
        wait + wait * (Self.longestSpread * jitter)
    }

    private func retry(_ reason: String, atLeast: Duration, now: Date, jitter: Double) -> Settlement {
        let next = now + max(self.wait(jitter: jitter), atLeast.timeInterval)
        return next < self.expiresAt ? .retried(at: next, reason: reason) : .expired
    }

    private func wait(jitter: Double) -> TimeInterval {
        let doublings = Double(min(max(self.attempts, 1) - 1, 20))
        let longest = min(Self.firstWait * pow(2, doublings), Self.longestWait)
        // The delay is never zero: a provider that fails at once must not be called in a tight
        // loop.
        return max(longest * jitter, Self.firstWait / 10)
    }
}
