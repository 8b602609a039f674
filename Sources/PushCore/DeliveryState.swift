package import Foundation

/// Where one push to one device stands, and what an answer of the provider makes of it. Decides; does nothing.
package struct DeliveryState: Sendable, Hashable {
    /// How many times it was handed to the sender, the running one included.
    package let attempts: Int
    package let expiresAt: Date

    package init(attempts: Int, expiresAt: Date) {
        self.attempts = attempts
        self.expiresAt = expiresAt
    }

    package enum Event: Sendable, Hashable {
        case claimed
        case accepted(Acceptance)
        case failed(SendFailure)
    }

    package enum Action: Sendable, Hashable {
        case send
        case accept(providerID: String?)
        case expire
        case fail(reason: String)
        case retry(at: Date, reason: String)
        /// Keeps it, untried, until the device is there.
        case park(reason: String)
        /// Fails it, and retires the device unless it registered again after `since`.
        case retireDevice(reason: String, since: Date?)
        /// Fails it, and retires the device if others show that our set-up is not at fault.
        case suspectDevice(reason: String)
    }

    /// The first wait; each later one is twice as long, up to `longestWait`.
    package static let firstWait: TimeInterval = 1
    package static let longestWait: TimeInterval = 900
    /// `jitter` is a random number from 0 to 1: of each wait that much is used, so that a crowd does not return at once.
    package func on(_ event: Event, now: Date, jitter: Double) -> Action {
        switch event {
        case .claimed:
            return now < self.expiresAt ? .send : .expire
        case .accepted(let acceptance):
            return .accept(providerID: acceptance.providerID)
        case .failed(.deviceGone(let reason, let since)):
            return .retireDevice(reason: reason, since: since)
        case .failed(.rejected(let reason)):
            return .fail(reason: reason)
        case .failed(.misconfigured(let reason)):
            // Not the push's fault: it goes when its sender does.
            return self.retry(reason, atLeast: .seconds(Int64(SenderHealth.pause)), now: now, jitter: jitter)
        case .failed(.deviceUnknown(let reason)):
            return .suspectDevice(reason: reason)
        case .failed(.offline(let reason)):
            return .park(reason: reason)
        case .failed(.unavailable(let reason, let retryAfter)):
            return self.retry(reason, atLeast: retryAfter ?? .zero, now: now, jitter: jitter)
        case .failed(.overloaded(let reason, let retryAfter)), .failed(.deviceBusy(let reason, let retryAfter)):
            return self.retry(reason, atLeast: retryAfter, now: now, jitter: jitter)
        }
    }

    private func retry(_ reason: String, atLeast: Duration, now: Date, jitter: Double) -> Action {
        let next = now + max(self.wait(jitter: jitter), atLeast.timeInterval)
        return next < self.expiresAt ? .retry(at: next, reason: reason) : .expire
    }

    private func wait(jitter: Double) -> TimeInterval {
        let doublings = Double(min(max(self.attempts, 1) - 1, 20))
        let longest = min(Self.firstWait * pow(2, doublings), Self.longestWait)
        // Never nothing: a provider that fails at once must not be asked in a tight loop.
        return max(longest * jitter, Self.firstWait / 10)
    }
}
