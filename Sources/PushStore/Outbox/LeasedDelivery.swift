internal import Foundation
package import PushCore

/// A push that this server has leased: no other server sends it until it is settled or this
/// server ends.
package struct LeasedDelivery: Sendable, Hashable {
    /// The device's number.
    package let device: Int64
    package let user: Int64
    package var push: Push
    package let state: DeliveryState
    /// Whether a provider has accepted a push to the address before. The store finds that out for
    /// probes only; for other pushes it is `false`.
    package let isAddressKnown: Bool
    /// Whether the next push to the device waits for an interval after this one.
    package let isPaced: Bool
}

/// Limits of the count of a user's unread notifications.
package enum UnreadCount {
    /// The number of the user's latest changes that the store examines. That takes less than a
    /// millisecond.
    package static let maximumExamined = 1000
}

/// The two queues of a lane.
package enum Queue: Int, Sendable, CaseIterable {
    /// Notifications to few devices; they go first.
    case direct
    /// Broadcasts, which must not delay notifications to few devices.
    case bulk
}

/// The number of pushes to lease, and their queue.
package struct LeaseRequest: Sendable, Hashable {
    package let lane: Lane
    package let queue: Queue
    package let limit: Int
    /// The shortest time between two pushes to one device; only the latest of the pushes due
    /// meanwhile is sent. `nil`: no such limit.
    package let interval: Duration?
    /// Whether each push has the number of its user's unread notifications.
    package let countsUnread: Bool

    package init(
        _ limit: Int,
        from lane: Lane,
        _ queue: Queue,
        interval: Duration? = nil,
        countsUnread: Bool = false
    ) {
        (self.lane, self.queue, self.limit) = (lane, queue, limit)
        (self.interval, self.countsUnread) = (interval, countsUnread)
    }
}

/// The outbox's key of a push.
package struct DuePush: Sendable, Hashable {
    package let notification: Int64
    /// The device's number.
    package let device: Int64

    package init(notification: Int64, device: Int64) {
        (self.notification, self.device) = (notification, device)
    }
}
