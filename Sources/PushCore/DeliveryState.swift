package import Foundation

/// The state of one push to one device. It only decides what each outcome means for the push; the
/// callers act.
package struct DeliveryState: Sendable, Hashable {
    /// The number of attempts, the running one included.
    package let attempts: Int
    package let expiresAt: Date

    package init(attempts: Int, expiresAt: Date) {
        self.attempts = attempts
        self.expiresAt = expiresAt
    }

    /// The first delay; each later one is twice as long, up to `longestWait`.
    package static let firstWait: TimeInterval = 1
    package static let longestWait: TimeInterval = 900
    /// The delay after the provider has refused all devices of one kind, which an operator must
    /// fix.
    private static let waitForKind = Duration.seconds(300)
    /// The server lengthens a delay that a provider asks for by at most this share.
    package static let longestSpread = 0.25

    package func isExpired(now: Date) -> Bool {
        now >= self.expiresAt
    }

    /// The result to store for an attempt with this outcome.
    ///
    /// - Parameters:
    ///   - blame: The blame for a device that the provider does not know.
    ///   - jitter: A random number from 0 to 1: the used share of each delay, so that many pushes
    ///     do not retry at once.
    package func settlement(of outcome: SendOutcome, blame: Blame, now: Date, jitter: Double) -> Settlement {
        switch outcome {
        case .success(let acceptance):
            return .accepted(providerID: acceptance.providerID)
        case .failure(.rejected(let reason)):
            return .failed(reason: reason)
        case .failure(.deviceUnknown(let reason)) where blame == .device,
            .failure(.deviceGone(let reason, _)) where blame != .us:
            return .failed(reason: reason)
        // The push fails only after one retry: a front end of the provider may have given this
        // answer for a moment by mistake.
        case .failure(.deviceNotFound(let reason)) where blame == .device && self.attempts > 1:
            return .failed(reason: reason)
        case .failure(.credentialRefused(let reason)):
            // Only the next answer shows whether the lane must pause.
            return self.retry(reason, atLeast: .zero, now: now, jitter: jitter)
        case .failure(.misconfigured(let reason)), .failure(.credentialExpired(let reason)),
            .failure(.deviceNotFound(let reason)),
            .failure(.deviceUnknown(let reason)), .failure(.deviceGone(let reason, _)):
            // As far as is known, the push is not at fault. It is sent once the provider accepts
            // this server's pushes again.
            return self.retry(reason, atLeast: .seconds(Int64(SenderHealth.firstPause)), now: now, jitter: jitter)
        case .failure(.kindRefused(let reason)):
            return self.retry(reason, atLeast: Self.spread(Self.waitForKind, jitter), now: now, jitter: jitter)
        case .failure(.offline(let reason)):
            // The push is not retried until the device connects, which makes the push due.
            return .away(reason: reason)
        case .failure(.unavailable(let reason, _, sparesFirst: true)) where self.attempts <= 1:
            return self.retry(reason, atLeast: .zero, now: now, jitter: jitter)
        case .failure(.unavailable(let reason, let retryAfter, _)):
            return self.retry(reason, atLeast: Self.spread(retryAfter ?? .zero, jitter), now: now, jitter: jitter)
        case .failure(.deviceBusy(let reason, let retryAfter)):
            return self.retry(reason, atLeast: Self.spread(retryAfter, jitter), now: now, jitter: jitter)
        case .failure(.overloaded(let reason, let retryAfter)):
            // The lane pauses for the same time, and begins again with one push.
            return self.retry(reason, atLeast: retryAfter, now: now, jitter: jitter)
        }
    }

    /// The result to store for a look, a silent push that makes a device sync; `settlement` is
    /// that of other pushes. A look is retried only a few times, since the next change causes
    /// another look. A device that is not connected syncs when it connects.
    package func settlementOfLook(_ settlement: Settlement) -> Settlement {
        switch settlement {
        case .away: .expired
        case .retried(_, let reason) where self.attempts >= Self.attemptsOfLook: .failed(reason: reason)
        default: settlement
        }
    }

    private static let attemptsOfLook = 3

    /// Lengthens a delay that a provider asks for. Many pushes get the same delay, and must not
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
