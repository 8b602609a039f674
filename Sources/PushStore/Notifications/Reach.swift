/// How many users and devices a new notification has reached in the transaction of its post.
package struct Reach: Sendable, Hashable {
    /// The number of users who are recipients.
    package let recipients: Int
    /// The number of enqueued pushes.
    package let pushes: Int
    /// Whether the two numbers are final; `false` if a fan-out continues with more devices.
    package let isComplete: Bool

    package init(recipients: Int, pushes: Int, isComplete: Bool = true) {
        (self.recipients, self.pushes, self.isComplete) = (recipients, pushes, isComplete)
    }

    /// The reach before the fan-out or the release has found anybody.
    package static let none = Reach(recipients: 0, pushes: 0, isComplete: false)
}
