package import Foundation
package import PushCore

/// The result of one pass over the scheduled notifications.
package struct Release: Sendable, Hashable {
    /// The number of notifications, and about the number of pushes, that one transaction releases:
    /// few enough that concurrent posts are hardly delayed.
    package static let (limit, pushes) = (100, 250)

    /// The notifications that were sent: they have recipients and pushes now.
    package var sent: [NotificationID] = []
    /// The notifications that were not sent, since their sender was deleted or may no longer send
    /// them. They are recalled.
    package var refused: [NotificationID] = []
    /// Whether there are pushes to send now.
    package var hasWork = false
    /// When the next notification is due, which is not after the time of the pass if more are due;
    /// `nil` if there is none.
    package var nextDue: Date?

    package init() {}
}

/// The notifications that are scheduled.
package struct Schedule: Sendable, Hashable {
    package let count: Int
    /// When the first of them is due.
    package let firstDue: Date?

    package init(count: Int, firstDue: Date?) {
        (self.count, self.firstDue) = (count, firstDue)
    }
}
