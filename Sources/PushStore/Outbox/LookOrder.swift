package import Foundation

/// A change of a user's notifications that the user's devices must show.
package struct LookOrder: Sendable, Hashable {
    package let user: Int64
    /// The session that made all of the changes, so that its devices know them; `nil` if none or
    /// several sessions made them.
    package let session: String?
    /// Whether the pushes go at once and with high priority, as after a recall.
    package let isUrgent: Bool

    package init(user: Int64, session: String? = nil, isUrgent: Bool = false) {
        (self.user, self.session, self.isUrgent) = (user, session, isUrgent)
    }

    /// One order for the changes of this order and of `other`.
    func merged(with other: LookOrder) -> LookOrder {
        LookOrder(
            user: self.user,
            session: self.session == other.session ? self.session : nil,
            isUrgent: self.isUrgent || other.isUrgent
        )
    }
}

/// A session that has fetched all changes of its user up to a number.
package struct LookSync: Sendable, Hashable {
    package let user: Int64
    package let session: String
    package let change: Int64

    package init(user: Int64, session: String, change: Int64) {
        (self.user, self.session, self.change) = (user, session, change)
    }
}

/// Decides when a device gets its next look, which is a push that tells it to sync. The plan
/// itself writes nothing.
package struct LookPlan: Sendable, Hashable {
    package enum Step: Sendable, Hashable {
        /// A look waits already, and the sync after it finds this change too.
        case leave
        /// Make another look, due at this time. It replaces a look that waits.
        case make(dueAt: Date)
    }

    /// The lifetime of a look: the same as a notification's usual lifetime, since providers see
    /// it.
    package static let lifetime: TimeInterval = 2_592_000
    /// How long changes are gathered before the first look, at most.
    private static let longestGathering: TimeInterval = 2
    /// The interval between two urgent looks, in seconds.
    private static let urgentInterval: TimeInterval = 1

    /// The shortest time between two looks of the device, in seconds.
    private let interval: TimeInterval

    package init(interval: Duration) {
        self.interval = Double(interval.components.seconds)
    }

    /// The step for a change now. `last` is when the device's last look was due; `isWaiting`: that
    /// look is not being sent yet.
    package func step(last: Date?, isWaiting: Bool, isUrgent: Bool, now: Date) -> Step {
        if isWaiting, !isUrgent || last.map({ $0 <= now + Self.urgentInterval }) == true { return .leave }
        let pause = isUrgent ? min(self.interval, Self.urgentInterval) : self.interval
        let first = now + (isUrgent ? 0 : min(self.interval / 5, Self.longestGathering))
        guard let last, !isWaiting else { return .make(dueAt: first) }
        // If the clock was set back, the last look may be far in the future.
        return .make(dueAt: min(max(first, last + pause), now + self.interval))
    }
}
