internal import Foundation
package import PushCore

/// A push that this server has leased. Until the push is settled or this server has ended, no
/// other server sends it.
package struct LeasedDelivery: Sendable, Hashable {
    /// The number by which the outbox identifies the device; not the registration id.
    package let device: Int64
    package let user: Int64
    package var push: Push
    package let state: DeliveryState
    /// Whether a provider has ever accepted a push to this address. The store reads this only for
    /// probes (pushes that test a provider); for other pushes, the property is `false`.
    package let isAddressKnown: Bool
    /// Whether the next push to the device must wait for the minimum interval between two pushes.
    package let isPaced: Bool
}

/// The two queues of a lane (pushes to one provider).
package enum Queue: Int, Sendable, CaseIterable {
    /// The maximum number of pushes at each end of a queue that the search for its oldest push
    /// examines. The search takes less than a millisecond.
    package static let maximumExamined = 64

    /// Pushes of notifications to few devices; these pushes go first.
    case direct
    /// Pushes of broadcasts, which must not delay the pushes in the other queue.
    case bulk
}

/// A request to lease pushes: their maximum number, their lane and their queue.
package struct LeaseRequest: Sendable, Hashable {
    /// The maximum number of a user's latest changes that the store examines, if it counts the
    /// user's unread notifications. This takes less than a millisecond.
    package static let maximumExamined = 1000

    package let lane: Lane
    package let queue: Queue
    package let limit: Int
    /// The minimum time between two pushes to one device. Of the pushes that become due in this
    /// time, only the latest is sent. `nil`: pushes need not wait.
    package let interval: Duration?
    /// Whether each push gets the number of its user's unread notifications.
    package let countsUnread: Bool

    package init(_ limit: Int, from lane: Lane, _ queue: Queue, interval: Duration? = nil, countsUnread: Bool = false) {
        (self.lane, self.queue, self.limit) = (lane, queue, limit)
        (self.interval, self.countsUnread) = (interval, countsUnread)
    }
}

/// The key of a push in the outbox.
package struct DuePush: Sendable, Hashable {
    package let notification: Int64
    /// The number by which the outbox identifies the device; not the registration id.
    package let device: Int64

    package init(notification: Int64, device: Int64) {
        (self.notification, self.device) = (notification, device)
    }
}
