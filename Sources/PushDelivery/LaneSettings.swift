package import PushCore

/// A lane (the queue of pushes to one provider), and the settings for its pushes.
package struct LaneSettings: Sendable {
    package let lane: Lane
    package let sender: any PushSender
    /// The largest number of concurrent calls to the provider.
    package var concurrency: Int
    /// The largest number of calls per second; `nil` means no limit.
    package var rate: Int?
    /// The shortest time between two pushes to one device; only the latest of the waiting pushes
    /// is sent. `nil` means that there is no such time.
    package var interval: Duration?
    /// The lane of the platform's other environment, for devices that are unknown in this lane's
    /// environment; `nil` if the platform has no other environment.
    package var otherEnvironment: Lane?
    /// Whether each push carries the number of its user's unread notifications.
    package var countsUnread = false
    /// Whether each device has named a host of its own. A failure at one host then says nothing
    /// about the others, so no failure pauses the lane.
    package var hasUnrelatedHosts = false
    /// The longest wait of the lane's loop, if other servers may enqueue pushes without waking
    /// this loop; `nil` if the setting for all lanes applies.
    package var pollInterval: Duration?

    package init(
        _ lane: Lane,
        sender: any PushSender,
        concurrency: Int = 100,
        rate: Int? = nil,
        interval: Duration? = nil,
        otherEnvironment: Lane? = nil
    ) {
        self.lane = lane
        self.sender = sender
        self.concurrency = concurrency
        self.rate = rate
        self.interval = interval
        self.otherEnvironment = otherEnvironment
    }

    /// The settings of a lane for looks: pushes by `sender` that show nothing and make the devices
    /// of this lane fetch changes. The lane of looks has a tenth of this lane's rate and few
    /// concurrent calls, so that most of the provider's capacity is left to notifications.
    package func ofLooks(by sender: any PushSender) -> LaneSettings {
        LaneSettings(
            self.lane.ofLooks,
            sender: sender,
            concurrency: max(1, min(self.concurrency, 100) / 4),
            rate: self.rate.map { max(1, $0 / 10) }
        )
    }
}

/// Settings that say how pushes are leased from the outbox, and how their outcomes are stored.
package struct DeliverySettings: Sendable, Hashable {
    /// The largest number of a lane's pushes that are being sent or whose outcomes are not stored
    /// yet. After a crash, the lane sends at most this number of pushes again.
    package var inFlight: Int
    /// The longest time that a loop waits, in case a wake-up is missed.
    package var pollInterval: Duration
    /// How long outcomes are gathered, so that many share one commit.
    package var settleAfter: Duration

    package init(
        inFlight: Int = 1000,
        pollInterval: Duration = .seconds(5),
        settleAfter: Duration = .milliseconds(20)
    ) {
        self.inFlight = inFlight
        self.pollInterval = pollInterval
        self.settleAfter = settleAfter
    }
}
