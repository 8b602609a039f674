package import Foundation

/// The outcome of an attempt to send a push. Senders, lanes and the outbox all use these values.
///
/// `DeliveryState` decides the consequences for the push, `SenderHealth` for the provider's other
/// pushes, `retirement` for the device, and the sender itself for its credentials.
package typealias SendOutcome = Result<Acceptance, SendFailure>

/// The provider has accepted the push.
package struct Acceptance: Sendable, Hashable {
    /// The provider's own name for the push, for support.
    package let providerID: String?

    package init(providerID: String? = nil) {
        self.providerID = providerID
    }

    /// The `providerID` of each push that an event stream has accepted. With it the store finds
    /// the pushes that may be lost because their connection broke.
    package static let byStream = "stream"
}

/// The provider's refusal, classified by the reaction it needs. Reasons are the provider's words,
/// safe to store and to log.
///
/// A refusal that a device's handle or a publisher's collapse key can cause is never
/// `misconfigured`: one device must not be able to stop the others.
package enum SendFailure: Error, Sendable, Hashable {
    /// The provider or the network has a problem: this push is retried, at the earliest after
    /// `retryAfter`. Several in a row without a success are an outage. `sparesFirst`: the first
    /// retry may be earlier.
    case unavailable(reason: String, retryAfter: Duration? = nil, sparesFirst: Bool = false)
    /// The provider asked explicitly for a delay: nothing is sent to it before `retryAfter`.
    case overloaded(reason: String, retryAfter: Duration)
    /// The device got too many pushes; the others are not affected.
    case deviceBusy(reason: String, retryAfter: Duration)
    /// The device is not connected. The push waits, without attempts, until it connects.
    case offline(reason: String)
    /// The address is dead; `since`, if known, is the time at which the provider found it dead: a
    /// device that has registered after that time is alive.
    case deviceGone(reason: String, since: Date? = nil)
    /// The address is dead, or the server uses the wrong app, project or environment for it: only
    /// other devices' pushes can show which.
    case deviceUnknown(reason: String)
    /// The provider cannot find the device or the server's project, and does not say which. As for
    /// `deviceUnknown`, other devices' pushes show which; but the device stays registered in any
    /// case.
    case deviceNotFound(reason: String)
    /// This push will never be accepted; the device and the sender are fine.
    case rejected(reason: String)
    /// The server's credentials or configuration are wrong: no push is accepted until an operator
    /// acts.
    case misconfigured(reason: String)
    /// The server's set-up is wrong for devices of this kind, or seems so because of this device
    /// alone: the push waits, and others continue.
    case kindRefused(reason: String)
    /// The server's access token has expired. The sender retries once with a new one; a second
    /// refusal is `misconfigured`.
    case credentialExpired(reason: String)
    /// The provider calls the server's access token invalid, twice in a row. Some providers say so
    /// of a good token now and then: the lane pauses only if no push is accepted meanwhile.
    case credentialRefused(reason: String)

    /// The reason in the provider's words.
    package var reason: String {
        switch self {
        case .unavailable(let reason, _, _), .overloaded(let reason, _), .deviceBusy(let reason, _),
            .offline(let reason),
            .deviceGone(let reason, _), .deviceUnknown(let reason), .rejected(let reason), .misconfigured(let reason),
            .kindRefused(let reason), .credentialExpired(let reason), .credentialRefused(let reason),
            .deviceNotFound(let reason):
            reason
        }
    }

    /// The kind of the refusal, without the provider's words.
    package var kind: String {
        switch self {
        case .unavailable: "unavailable"
        case .overloaded: "overloaded"
        case .deviceBusy: "device-busy"
        case .offline: "offline"
        case .deviceGone: "device-gone"
        case .deviceUnknown: "device-unknown"
        case .deviceNotFound: "device-not-found"
        case .rejected: "rejected"
        case .misconfigured: "misconfigured"
        case .kindRefused: "kind-refused"
        case .credentialExpired: "credential-expired"
        case .credentialRefused: "credential-refused"
        }
    }

    /// The device is retired unless it has registered again after the returned date; `nil`: it
    /// stays registered.
    ///
    /// - Parameters:
    ///   - sentAt: When the sender received the push.
    ///   - blame: The blame for a device that the provider does not know.
    package func retirement(sentAt: Date, blame: Blame) -> Date? {
        switch self {
        case .deviceGone(_, let since): blame == .us ? nil : min(since ?? sentAt, sentAt)
        case .deviceUnknown: blame == .device ? sentAt : nil
        case .unavailable, .overloaded, .deviceBusy, .offline, .rejected, .misconfigured, .kindRefused,
            .credentialExpired, .credentialRefused, .deviceNotFound:
            nil
        }
    }
}
