package import Foundation

/// Changes of a user's notifications that the user's devices must show.
package struct LookOrder: Sendable, Hashable {
    package let user: Int64
    /// The session that has made all of these changes; its own devices know them already. `nil` if
    /// several sessions, or no session, made them.
    package let session: String?
    /// Whether the pushes are sent at once and with high priority, for example after a recall.
    package let isUrgent: Bool

    package init(user: Int64, session: String? = nil, isUrgent: Bool = false) {
        (self.user, self.session, self.isUrgent) = (user, session, isUrgent)
    }

    /// Merges the changes of this order and of `other` into one order.
    func merged(with other: LookOrder) -> LookOrder {
        LookOrder(
            user: self.user,
            session: self.session == other.session ? self.session : nil,
            isUrgent: self.isUrgent || other.isUrgent
        )
    }
}

/// A session that has fetched all changes of its user, up to the change number `change`.
package struct LookSync: Sendable, Hashable {
    package let user: Int64
    package let session: String
    package let change: Int64

    package init(user: Int64, session: String, change: Int64) {
        (self.user, self.session, self.change) = (user, session, change)
    }
}

/// Decides when a device gets its next look: a push that tells it to sync. The decision itself
/// writes nothing.
package struct LookPlan: Sendable, Hashable {
    package enum Step: Sendable, Hashable {
        /// Do nothing: a push that tells the device to sync already waits, and that sync finds
        /// this change, too.
        case leave
        /// Enqueue another look (push that tells the device to sync). It is due at this time, and
        /// replaces a waiting look.
        case make(dueAt: Date)
    }

    /// The lifetime of a look (a push that tells a device to sync). It equals the default lifetime
    /// of a notification: providers see the lifetime, and could otherwise tell looks apart.
    package static let lifetime: TimeInterval = 2_592_000
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
    /// last look (push that tells it to sync) was due. `isWaiting`: no server has begun to send
    /// that look.
    package func step(last: Date?, isWaiting: Bool, isUrgent: Bool, now: Date) -> Step {
        if isWaiting, !isUrgent || last.map({ $0 <= now + Self.urgentInterval }) == true { return .leave }
        let pause = isUrgent ? min(self.interval, Self.urgentInterval) : self.interval
        let first = now + (isUrgent ? 0 : min(self.interval / 5, Self.longestGathering))
        guard let last, !isWaiting else { return .make(dueAt: first) }
        // If the clock was set back, `last` may be far in the future.
        return .make(dueAt: min(max(first, last + pause), now + self.interval))
    }
}
