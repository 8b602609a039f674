package import Foundation
package import PushCore

/// Changes of a user's notifications of one app that the user's devices of this app must show.
package struct LookOrder: Sendable, Hashable {
    /// The user and the app whose notifications have changed.
    package struct Subject: Sendable, Hashable {
        package let user: Int64
        package let app: AppName

        /// Whether a device of this lane shows the notifications of the app.
        package func concerns(_ lane: String) -> Bool {
            Lane(stored: lane).app == self.app
        }
    }

    package let subject: Subject
    /// The session that has made all of these changes; its own devices know them already. `nil` if
    /// several sessions, or no session, made them.
    package let session: String?
    /// Whether the pushes are sent immediately and with high priority, for example after a recall.
    package let isUrgent: Bool

    package init(user: Int64, app: AppName, session: String? = nil, isUrgent: Bool = false) {
        (self.subject, self.session, self.isUrgent) = (Subject(user: user, app: app), session, isUrgent)
    }

    package var user: Int64 { self.subject.user }

    /// Merges the changes of this order and of `other` into one order.
    package func merged(with other: LookOrder) -> LookOrder {
        LookOrder(
            user: self.user,
            app: self.subject.app,
            session: self.session == other.session ? self.session : nil,
            isUrgent: self.isUrgent || other.isUrgent
        )
    }
}

/// A session that has fetched all changes of its user in one app, up to the change number
/// `change`.
package struct LookSync: Sendable, Hashable {
    package let subject: LookOrder.Subject
    package let session: String
    package let change: Int64

    package init(user: Int64, app: AppName, session: String, change: Int64) {
        (self.subject, self.session, self.change) = (LookOrder.Subject(user: user, app: app), session, change)
    }
}

/// Decides when a device gets its next look: a push that tells it to sync. The decision itself
/// writes nothing.
extension LookOrder {
    /// The maximum time in seconds for which changes are gathered before a device is first told to
    /// sync.
    private static let longestGathering: TimeInterval = 2
    /// The minimum time in seconds between two urgent looks.
    private static let urgentInterval: TimeInterval = 1

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
