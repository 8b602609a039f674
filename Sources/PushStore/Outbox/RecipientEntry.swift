package import Foundation
package import PushCore

/// A recipient's receipt of a notification, as the notification's publisher sees it.
package struct RecipientEntry: Sendable, Hashable {
    /// The user's number, which orders the entries.
    package let user: Int64
    /// `nil` if the user was deleted.
    package let username: Username?
    /// When the user first fetched the payload, with whichever device.
    package let fetchedAt: Date?
    package let readAt: Date?
    package let dismissedAt: Date?
}

/// The times of a notification, for operators.
package struct NotificationTimes: Sendable, Hashable {
    package let id: NotificationID
    package let createdAt: Date
    package let expiresAt: Date
    /// When the notification was recalled; `nil`: it was not recalled.
    package let recalledAt: Date?
}
