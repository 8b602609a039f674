package import Foundation

/// A decision about a push to a device that gets at most one push in an interval. Of the pushes
/// that wait for the end of the interval, only the newest is sent: it wakes the app for all of
/// them.
package enum Pace: Sendable, Hashable {
    case send
    case wait(until: Date)
    /// The push is not sent, because a newer push waits for the same device.
    case replace

    /// Decides about a push. `acceptedAt` is the time when a provider last accepted a push to the
    /// device's address. `interval` is the minimum interval; `nil`: each push is sent.
    package static func decide(
        _ interval: TimeInterval?,
        acceptedAt: Date?,
        hasNewer: @autoclosure () throws -> Bool,
        isAnotherUnderWay: @autoclosure () throws -> Bool,
        now: Date
    ) rethrows -> Pace {
        guard let interval else { return .send }
        if try hasNewer() { return .replace }
        let last = try isAnotherUnderWay() ? now : acceptedAt
        guard let last, last + interval > now else { return .send }
        return .wait(until: last + interval)
    }
}
