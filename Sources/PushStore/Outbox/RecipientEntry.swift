package import Foundation
package import PushCore

/// A recipient of a notification, in the form for the notification's publisher.
package struct RecipientEntry: Sendable, Hashable {
    /// The user's number; lists are in the order of these numbers.
    package let user: Int64
    /// The user's name; `nil` if the user was deleted.
    package let username: Username?
    /// When the user first fetched the payload, with any device.
    package let fetchedAt: Date?
    package let readAt: Date?
    package let dismissedAt: Date?
}

/// The state of a notification, in the form for operators.
package struct NotificationSummary: Sendable, Hashable {
    package let id: NotificationID
    package let app: AppName
    package let isEndToEnd: Bool
    package let createdAt: Date
    package let expiresAt: Date
    /// When the notification was recalled; `nil` if it was not.
    package let recalledAt: Date?
}
