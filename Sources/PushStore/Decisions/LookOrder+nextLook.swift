package import Foundation
package import PushCore

/// Decides when a device gets its next look: a push that tells it to sync. The decision itself
/// writes nothing.
extension LookOrder {
    /// The maximum time in seconds for which changes are gathered before a device is first told to
    /// sync.
    private static let longestGathering: TimeInterval = 2
    /// The minimum time in seconds between two urgent looks.
    private static let urgentInterval: TimeInterval = 1
    /// The maximum number of looks that one transaction deletes.
    package static let deletionPage = 100

    /// The time at which another look is due, which replaces a waiting look. `nil` if none is
    /// needed: the waiting look is due soon, and its sync finds this change, too.
    ///
    /// `interval` is the minimum time between two looks. `last` is the time when the device's last
    /// look was first due. `due` is the time when that look is sent; `nil` if it does not wait. A
    /// look that waits for a retry may wait much longer than the interval.
    package func nextLook(every interval: Duration, last: Date?, waitsUntil due: Date?, now: Date) -> Date? {
        let interval = Double(interval.components.seconds)
        let pause = self.isUrgent ? min(interval, Self.urgentInterval) : interval
        if let due, due <= now + pause { return nil }
        let first = now + (self.isUrgent ? 0 : min(interval / 5, Self.longestGathering))
        // If the last look is not due yet, no server has begun to send it. The new look replaces
        // it, and need not keep the minimum time from it.
        guard let last, due == nil || last <= now else { return first }
        // If the clock was set back, `last` may be far in the future.
        return min(max(first, last + pause), now + interval)
    }
}
