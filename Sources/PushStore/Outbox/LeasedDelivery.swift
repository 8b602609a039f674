internal import Foundation
package import PushCore

/// A push that this process has leased: no other sends it until it is settled or the process ends.
package struct LeasedDelivery: Sendable, Hashable {
    /// The device's number.
    package let device: Int64
    package let user: Int64
    package let push: Push
    package let state: DeliveryState
    /// Whether a push was accepted at the address before; looked up for probes, and `false` for all others.
    package let isAddressKnown: Bool

    package init(device: Int64, user: Int64, push: Push, state: DeliveryState, isAddressKnown: Bool = false) {
        self.device = device
        self.user = user
        self.push = push
        self.state = state
        self.isAddressKnown = isAddressKnown
    }
}

/// The two queues of a lane.
package enum Queue: Int, Sendable, CaseIterable {
    /// Notices for few; they go first.
    case direct
    /// Broadcasts, which a single notice must not wait for.
    case bulk
}

/// How many pushes are leased, and from which queue.
package struct LeaseRequest: Sendable, Hashable {
    package let lane: Lane
    package let queue: Queue
    package let limit: Int
    /// The least time between two pushes to one device, of which then only the latest is sent; `nil`: none.
    package let interval: Duration?

    package init(_ limit: Int, from lane: Lane, _ queue: Queue, interval: Duration? = nil) {
        self.lane = lane
        self.queue = queue
        self.limit = limit
        self.interval = interval
    }
}

/// The outbox's name for a push.
package struct DuePush: Sendable, Hashable {
    package let notification: Int64
    /// The device's number.
    package let device: Int64

    package init(notification: Int64, device: Int64) {
        self.notification = notification
        self.device = device
    }
}
