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

    /// The reach as long as no fan-out, and no release of a scheduled notification, has found a
    /// device.
    package static let none = Reach(recipients: 0, pushes: 0, isComplete: false)
}
