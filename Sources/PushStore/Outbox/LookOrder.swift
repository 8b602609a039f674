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
package struct LookPlan: Sendable, Hashable {
    package enum Step: Sendable, Hashable {
        /// Do nothing: a push that tells the device to sync is already due soon, and that sync
        /// finds this change, too.
        case leave
        /// Enqueue another look (push that tells the device to sync). It is due at this time, and
        /// replaces a waiting look.
        case make(dueAt: Date)
    }

    /// The maximum time in seconds for which changes are gathered before a device is first told to
    /// sync.
    private static let longestGathering: TimeInterval = 2
    /// The minimum time in seconds between two urgent looks (pushes that tell a device to sync).
    private static let urgentInterval: TimeInterval = 1

    /// The minimum time in seconds between two looks (pushes that tell the device to sync).
    private let interval: TimeInterval

    package init(interval: Duration) {
        self.interval = Double(interval.components.seconds)
    }

    /// The step that follows from a change at the time `now`. `last` is the time when the device's
    /// last look (push that tells it to sync) was first due. `waitsUntil` is the time when that
    /// look is sent; `nil` if it does not wait. A look that waits for a retry may wait much longer
    /// than the interval.
    package func step(last: Date?, waitsUntil due: Date?, isUrgent: Bool, now: Date) -> Step {
        let pause = isUrgent ? min(self.interval, Self.urgentInterval) : self.interval
        if let due, due <= now + pause { return .leave }
        let first = now + (isUrgent ? 0 : min(self.interval / 5, Self.longestGathering))
        // If the last look is not due yet, no server has begun to send it. The new look replaces
        // it, and need not keep the minimum time from it.
        guard let last, due == nil || last <= now else { return .make(dueAt: first) }
        // If the clock was set back, `last` may be far in the future.
        return .make(dueAt: min(max(first, last + pause), now + self.interval))
    }
}
