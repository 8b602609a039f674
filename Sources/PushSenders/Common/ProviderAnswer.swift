internal import CurlHTTP
internal import Foundation
internal import PushCore

/// The parts of a provider's answer that an `OutcomeTable` uses.
struct ProviderAnswer: Sendable {
    let status: Int
    /// The codes in the answer: the provider's own error code, or a code that this module has made
    /// from a sentence.
    let words: [String]
    /// The reason of a failure, safe to store and to log.
    let reason: String
    /// The reason if the answer refuses a token: `reason`, followed by the difference between the
    /// clocks, if they differ.
    let reasonOfToken: String
    /// The value of `Retry-After`.
    let retryAfter: Duration?
    /// The provider's own id of the push.
    let providerID: String?
    /// The time at which the provider last saw that the device is no longer registered.
    let since: Date?

    /// If `reason` is `nil`, the reason is the status as text.
    init(
        _ response: OutboundResponse,
        words: [String] = [],
        reason: String? = nil,
        providerID: String? = nil,
        since: Date? = nil,
        now: Date
    ) {
        self.status = response.status
        self.words = words
        self.reason = reason ?? "HTTP \(response.status)"
        self.reasonOfToken = ClockDifference.explain(self.reason, response, now: now)
        self.retryAfter = RetryAfter.duration(response.header("retry-after"), now: now)
        self.providerID = providerID
        self.since = since
    }

    /// The failure if the provider is overloaded. If the answer names a delay, all pushes to the
    /// provider pause for this time. Otherwise, only this push waits, for `rest`.
    func overloadedIfTimed(orElse rest: Duration? = nil, sparingFirst: Bool = false) -> SendFailure {
        if let retryAfter {
            .overloaded(reason: self.reason, retryAfter: retryAfter)
        } else {
            .unavailable(reason: self.reason, retryAfter: rest, sparesFirst: sparingFirst)
        }
    }
}
