package import Foundation

/// A period in which a lane sends only occasional probes, and its cause.
package struct Pause: Sendable, Hashable {
    /// The cause of a pause: a closed set for the log and the metrics.
    package enum Cause: String, Sendable, CaseIterable {
        /// Several calls in a row failed.
        case outage
        /// The provider asked for a rest.
        case overloaded
        /// The provider says that devices of several users in a row were sent too much.
        case throttled
        /// The provider refuses our credentials or our configuration.
        case misconfigured
        /// The provider does not know the devices of several users in a row, and has accepted no other push.
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
    /// In the provider's words.
    package let reason: String
    package let since: Date
    /// When the next probe may go.
    package let until: Date

    package init(_ cause: Cause, reason: String, since: Date, until: Date) {
        self.cause = cause
        self.reason = reason
        self.since = since
        self.until = until
    }
}

/// A change in a lane's health that operators are told about.
package enum HealthEvent: Sendable, Hashable {
    case paused(Pause)
    /// The pause has another cause or reason now.
    case changed(from: Pause, to: Pause)
    /// A probe was refused for the same reason as before; the next goes after `rest`.
    case prolonged(Pause, rest: TimeInterval)
    case resumed(Pause)
    /// A device was refused before any push was accepted: with few users this may be the only sign of a wrong
    /// configuration.
    case doubted(reason: String)
    /// Devices of a kind, such as all of Apple's, are refused, because a key for them is missing or wrong.
    case kindRefused(reason: String)
    /// The devices of many users in a row are gone, and none was accepted: they are kept until one is.
    case manyGone(reason: String)

    /// The event between two states; `nil` if there is no news.
    package init?(from old: Pause?, to new: Pause?, now: Date) {
        switch (old, new) {
        case (nil, nil): return nil
        case (nil, let new?): self = .paused(new)
        case (let old?, nil): self = .resumed(old)
        case (let old?, let new?):
            if old.cause != new.cause || old.reason != new.reason {
                self = .changed(from: old, to: new)
            } else if old.until != new.until {
                self = .prolonged(new, rest: new.until.timeIntervalSince(now))
            } else {
                return nil
            }
        }
    }
}
