package import Foundation

/// The outcome of an attempt to send a push. Senders, lanes (queues of pushes) and the outbox all
/// use these values.
///
/// Each type decides about some consequences: `DeliveryState` for the push, `SenderHealth` for
/// other pushes to the same provider, `retirement` for the device, and the sender for its own
/// credentials.
package typealias SendOutcome = Result<Acceptance, SendFailure>

/// The provider has accepted the push.
package struct Acceptance: Sendable, Hashable {
    /// The id that the provider has given the push; the provider's support can find the push by
    /// this id.
    package let providerID: String?

    package init(providerID: String? = nil) {
        self.providerID = providerID
    }

    /// The `providerID` of each push that an event stream has accepted. By this value, the store
    /// finds the pushes that may be lost because their connection broke.
    package static let byStream = "stream"
}

/// The refusal of a provider, classified by the reaction that it needs. Reasons are the provider's
/// words; it is safe to store and log them.
///
/// A refusal that a device's handle or a publisher's collapse key can cause is never
/// `misconfigured`: one device must not be able to stop the pushes to other devices.
package enum SendFailure: Error, Sendable, Hashable {
    /// The provider or the network has a problem: this push is retried, at the earliest after
    /// `retryAfter`. Several such failures in a row, without an accepted push, are an outage. If
    /// `sparesFirst` is `true`, the first retry may be earlier.
    case unavailable(reason: String, retryAfter: Duration? = nil, sparesFirst: Bool = false)
    /// The provider has explicitly requested a delay: no push is sent to it before `retryAfter`
    /// has passed.
    case overloaded(reason: String, retryAfter: Duration)
    /// The device got too many pushes; other devices are not affected.
    case deviceBusy(reason: String, retryAfter: Duration)
    /// The device is not connected. The push waits, without attempts, until the device connects.
    case offline(reason: String)
    /// The address is dead; `since` is the time at which the provider found that out, if it is
    /// known: a device that has registered after that time is alive.
    case deviceGone(reason: String, since: Date? = nil)
    /// The address is dead, or the server uses the wrong app, project or environment for it: only
    /// pushes to other devices can show which of these is the reason.
    case deviceUnknown(reason: String)
    /// The provider cannot find the device or the server's project, and does not say which of the
    /// two. Only pushes to other devices show which of the two is missing. In contrast to
    /// `deviceUnknown`, the device stays registered in any case.
    case deviceNotFound(reason: String)
    /// The provider will never accept this push; the device and the server are not at fault.
    case rejected(reason: String)
    /// The server's credentials or configuration are wrong: no push is accepted until an operator
    /// acts.
    case misconfigured(reason: String)
    /// The server's configuration is wrong for all devices of the same kind as this device, or
    /// this device makes it seem wrong. This push waits; pushes to other devices continue.
    case kindRefused(reason: String)
    /// The server's access token has expired. The sender retries the push once with a new token; a
    /// second refusal is `misconfigured`.
    case credentialExpired(reason: String)
    /// The provider has called the server's access token invalid, twice in a row. Some providers
    /// now and then call a valid token invalid, so the pushes to the provider pause only if it
    /// accepts no push in between.
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

    /// If the device must be retired, returns a date: a device that has registered again after
    /// this date stays registered. Returns `nil` if the device stays registered in any case.
    ///
    /// - Parameters:
    ///   - sentAt: The time at which the sender received the push.
    ///   - blame: Whether the device or the server is at fault if the provider does not know the
    ///     device.
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
