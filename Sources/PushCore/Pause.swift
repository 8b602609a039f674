package import Foundation

/// A time in which a lane sends nothing but a probe now and then, and why.
package struct Pause: Sendable, Hashable {
    /// What makes a lane pause: the closed set of the log and the metrics.
    package enum Cause: String, Sendable, CaseIterable {
        /// Calls in a row came to nothing.
        case outage
        /// The provider asked for a rest.
        case overloaded
        /// The provider says that devices of several users in a row were sent too much.
        case throttled
        /// The provider refuses our credentials or our set-up.
        case misconfigured
        /// The provider does not know the devices of several users in a row, and nobody else's was accepted.
        case devicesRefused = "devices_refused"

        /// Whether it lasts until an operator mends something.
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

/// What an operator is told of a lane's health.
package enum HealthEvent: Sendable, Hashable {
    case paused(Pause)
    /// The pause has another cause or reason now.
    case changed(from: Pause, to: Pause)
    /// A probe was refused for the same reason as before; the next goes after `rest`.
    case prolonged(Pause, rest: TimeInterval)
    case resumed(Pause)
    /// A device was refused before any other was accepted: with few users that is all there will ever be to see of a wrong
    /// set-up.
    case doubted(reason: String)

    /// The event that lies between two states; `nil` if there is no news in it.
    init?(from old: Pause?, to new: Pause?, now: Date) {
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
