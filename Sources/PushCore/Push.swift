package import Foundation

/// One push to one device: all that a sender learns of a notification.
package struct Push: Sendable, Hashable {
    package enum Priority: String, Sendable {
        case normal
        case high
    }

    package let notification: NotificationID
    /// The device's address at the provider, as it was registered.
    package let handle: String
    /// The same on every try, so that a repeated push can be recognised.
    package let attemptID: UUID
    /// No provider may deliver it afterwards.
    package let expiresAt: Date
    package let priority: Priority
    /// At most 64 bytes; the same for pushes of which only the newest counts.
    package let collapseKey: String?

    package init(
        notification: NotificationID,
        handle: String,
        attemptID: UUID,
        expiresAt: Date,
        priority: Priority = .normal,
        collapseKey: String? = nil
    ) {
        self.notification = notification
        self.handle = handle
        self.attemptID = attemptID
        self.expiresAt = expiresAt
        self.priority = priority
        self.collapseKey = collapseKey
    }
}
