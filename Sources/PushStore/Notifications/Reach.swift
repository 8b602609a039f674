/// The number of users and devices that a new notification reaches in the transaction of its post.
package struct Reach: Sendable, Hashable {
    /// The number of users who have become recipients.
    package let recipients: Int
    /// The number of pushes that were enqueued.
    package let pushes: Int
    /// Whether the two numbers are final; `false` if a fan-out will add more devices.
    package let isComplete: Bool

    package init(recipients: Int, pushes: Int, isComplete: Bool = true) {
        (self.recipients, self.pushes, self.isComplete) = (recipients, pushes, isComplete)
    }

    /// The reach of a notification for which no device has been found yet, by a fan-out or by the
    /// release of a scheduled notification.
    package static let none = Reach(recipients: 0, pushes: 0, isComplete: false)
}
