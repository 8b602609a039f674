package import Foundation

/// A period, with its cause, in which a lane (the queue of pushes to one provider) sends only a
/// single push now and then, as a probe.
package struct Pause: Sendable, Hashable {
    /// The cause of a pause: a closed set for the log and the metrics.
    package enum Cause: String, Sendable, CaseIterable {
        /// Several calls in a row failed.
        case outage
        /// The provider has requested a delay.
        case overloaded
        /// The provider has answered "too many pushes" for the devices of several users, one after
        /// the other.
        case throttled
        /// The provider refuses the server's credentials or configuration.
        case misconfigured
        /// The provider does not know the devices of several users in a row, and has accepted no
        /// other push.
        case devicesRefused = "devices_refused"

        /// Whether the pause lasts until an operator fixes the cause.
        package var needsOperator: Bool {
            switch self {
            case .misconfigured, .devicesRefused: true
            case .outage, .overloaded, .throttled: false
            }
        }
    }

    package let cause: Cause
    /// The reason in the provider's words.
    package let reason: String
    package let since: Date
    /// The time at which the next single push may be sent, as a probe.
    package let until: Date

    package init(_ cause: Cause, reason: String, since: Date, until: Date) {
        self.cause = cause
        self.reason = reason
        self.since = since
        self.until = until
    }
}

/// A change in a lane's health that operators should know.
package enum HealthEvent: Sendable, Hashable {
    case paused(Pause)
    /// The pause has another cause or reason now.
    case changed(from: Pause, to: Pause)
    /// A probe (a single push during the pause) was refused for the same reason as the previous
    /// one; the next probe is sent after `delay`.
    case prolonged(Pause, delay: TimeInterval)
    case resumed(Pause)
    /// The provider has refused a device before it has accepted any push. On a server with few
    /// users, this may be the only sign of a wrong configuration.
    case doubted(reason: String)
    /// The provider refuses all devices of one kind, such as all devices of Apple, because the key
    /// for this kind is missing or wrong.
    case kindRefused(reason: String)
    /// The provider reports the devices of many users in a row as gone, and has accepted no push.
    /// The server keeps these devices until the provider accepts a push.
    case manyGone(reason: String)

    /// The event for a change of the pause from `old` to `new`; `nil` if nothing has changed.
    package init?(from old: Pause?, to new: Pause?, now: Date) {
        switch (old, new) {
        case (nil, nil): return nil
        case (nil, let new?): self = .paused(new)
        case (let old?, nil): self = .resumed(old)
        case (let old?, let new?):
            if old.cause != new.cause || old.reason != new.reason {
                self = .changed(from: old, to: new)
            } else if old.until != new.until {
                self = .prolonged(new, delay: new.until.timeIntervalSince(now))
            } else {
                return nil
            }
        }
    }
}
