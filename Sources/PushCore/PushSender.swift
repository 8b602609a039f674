package import Foundation

/// A way to a provider.
///
/// `send` has a deadline of its own and never tries twice, except once with a fresh access token: when to try again is
/// for `DeliveryState` to say.
package protocol PushSender: Sendable {
    /// Returns once the provider has accepted the push, which is not yet delivery.
    func send(_ push: Push) async throws(SendFailure) -> Acceptance
}

/// The provider's yes.
package struct Acceptance: Sendable, Hashable {
    /// The provider's own name for the push, for support.
    package let providerID: String?

    package init(providerID: String? = nil) {
        self.providerID = providerID
    }

    /// What an event stream calls all that it has taken: by it the store finds what may have been lost with a connection.
    package static let byStream = "stream"
}

/// The provider's no, sorted by what it asks of us. Reasons are the provider's words, safe to store and to log.
package enum SendFailure: Error, Sendable, Hashable {
    /// The provider or the way to it has a problem: this push is tried later, at the earliest after `retryAfter`.
    /// Several in a row without a success are an outage.
    case unavailable(reason: String, retryAfter: Duration? = nil)
    /// The provider asked in so many words to be left alone: nothing at all is sent to it before.
    case overloaded(reason: String, retryAfter: Duration)
    /// This one device has been sent too much; the others are not concerned.
    case deviceBusy(reason: String, retryAfter: Duration)
    /// Nobody listens at the moment. The push waits, without being tried, until the device is there.
    case offline(reason: String)
    /// The address is dead; `since`, if known, is when the provider last saw that, and a later registration lives.
    case deviceGone(reason: String, since: Date? = nil)
    /// The address is dead, or ours is the wrong app, project or environment for it: only other devices' pushes tell.
    case deviceUnknown(reason: String)
    /// This push will never be accepted; the device and the sender are fine.
    case rejected(reason: String)
    /// Our credentials or set-up are wrong: nothing gets through until an operator acts.
    case misconfigured(reason: String)
}
