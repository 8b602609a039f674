internal import CurlHTTP
internal import Foundation
internal import PushCore

/// A provider's answer, as far as a table asks for it.
struct ProviderAnswer: Sendable {
    let status: Int
    /// The names of what it says: the provider's own for an error, or ours for what only a sentence of it tells.
    let words: [String]
    /// Why not, safe to store and to log.
    let reason: String
    /// What the field `Retry-After` says.
    let retryAfter: Duration?
    /// The provider's own name for the push.
    let providerID: String?
    /// When the provider last saw that the device is no longer registered.
    let since: Date?

    /// Without a reason, the status is it.
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
        self.retryAfter = RetryAfter.duration(response.header("retry-after"), now: now)
        self.providerID = providerID
        self.since = since
    }

    /// No push is sent for as long as the provider says; if it does not say, only this push waits, for `rest`.
    func overloadedIfTimed(orElse rest: Duration? = nil) -> SendFailure {
        if let retryAfter {
            .overloaded(reason: self.reason, retryAfter: retryAfter)
        } else {
            .unavailable(reason: self.reason, retryAfter: rest)
        }
    }
}
