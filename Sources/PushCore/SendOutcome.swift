package import Foundation

/// How a try to send a push ended: the one vocabulary from a provider's table to the lane and the outbox.
///
/// What it means for the push, `DeliveryState` says; for the provider's other pushes, `SenderHealth`; for the device,
/// `retirement`; for the sender's credentials, the sender itself.
package typealias SendOutcome = Result<Acceptance, SendFailure>

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
///
/// Whatever a device's own handle or a publisher's collapse key can bring about is never `misconfigured`: one device
/// must not be able to stop the others.
package enum SendFailure: Error, Sendable, Hashable {
    /// The provider or the way to it has a problem: this push is tried later, at the earliest after `retryAfter`.
    /// Several in a row without a success are an outage.
    case unavailable(reason: String, retryAfter: Duration? = nil)
    /// The provider asked in so many words to be left alone: nothing at all is sent to it before.
    case overloaded(reason: String, retryAfter: Duration)
    /// This one device has been sent too much; the others are not concerned.
    case deviceBusy(reason: String, retryAfter: Duration)
    /// The device is not connected. The push waits, without being tried, until it is.
    case offline(reason: String)
    /// The address is dead; `since`, if known, is when the provider last saw that, and a later registration lives.
    case deviceGone(reason: String, since: Date? = nil)
    /// The address is dead, or ours is the wrong app, project or environment for it: only other devices' pushes tell.
    case deviceUnknown(reason: String)
    /// This push will never be accepted; the device and the sender are fine.
    case rejected(reason: String)
    /// Our credentials or set-up are wrong: nothing gets through until an operator acts.
    case misconfigured(reason: String)
    /// Our access token is too old. Its sender tries once more with a fresh one; a second no is `misconfigured`.
    case credentialExpired(reason: String)

    /// In the provider's words.
    package var reason: String {
        switch self {
        case .unavailable(let reason, _), .overloaded(let reason, _), .deviceBusy(let reason, _), .offline(let reason),
            .deviceGone(let reason, _), .deviceUnknown(let reason), .rejected(let reason), .misconfigured(let reason),
            .credentialExpired(let reason):
            reason
        }
    }

    /// The date since which a device that has not registered again is retired; `nil`: the device stays.
    ///
    /// - Parameters:
    ///   - sentAt: When the push was handed to the sender.
    ///   - blame: Who is to blame that the provider does not know a device.
    package func retirement(sentAt: Date, blame: Blame) -> Date? {
        switch self {
        case .deviceGone(_, let since): min(since ?? sentAt, sentAt)
        case .deviceUnknown: blame == .device ? sentAt : nil
        case .unavailable, .overloaded, .deviceBusy, .offline, .rejected, .misconfigured, .credentialExpired: nil
        }
    }
}
