package import Foundation
package import PushCore

/// A push that a provider has refused for good, in the list of failed pushes of all notifications.
package struct FailedPush: Sendable, Hashable {
    package let notification: NotificationID
    package let delivery: DeliveryEntry
    package let place: FailurePlace
}

/// The place of a failed push in the list of failed pushes, which begins with the newest failure.
package struct FailurePlace: Sendable, Hashable {
    package let at: Date
    package let notification: Int64
    /// The number by which the outbox identifies the device; not the registration id.
    package let device: Int64

    package init(at: Date, notification: Int64, device: Int64) {
        (self.at, self.notification, self.device) = (at, notification, device)
    }
}
