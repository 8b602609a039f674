package import Foundation
package import PushCore

/// The result of one pass that sends scheduled notifications.
package struct Release: Sendable, Hashable {
    /// The maximum number of notifications, and the approximate maximum number of pushes, that one
    /// transaction sends. These numbers are small, so that concurrent posts are hardly delayed.
    package static let (limit, pushes) = (100, 250)

    /// The notifications that were sent. They now have recipients and pushes.
    package var sent: [NotificationID] = []
    /// The notifications that were recalled instead of sent, because their sender was deleted or
    /// may no longer send them.
    package var refused: [NotificationID] = []
    /// Whether pushes are due now.
    package var hasWork = false
    /// When the next notification is due; `nil` if no other notification is scheduled. The time is
    /// past if further notifications are already due.
    package var nextDue: Date?

    package init() {}
}

/// A summary of all scheduled notifications.
package struct Schedule: Sendable, Hashable {
    /// The maximum number of notifications that are counted, which takes some milliseconds.
    package static let maximumCounted = 100_000

    /// The number of scheduled notifications; `maximumCounted` if there are as many or more.
    package let count: Int
    /// When the first scheduled notification is due; `nil` if there are no scheduled
    /// notifications.
    package let firstDue: Date?

    package init(count: Int, firstDue: Date?) {
        (self.count, self.firstDue) = (count, firstDue)
    }
}
