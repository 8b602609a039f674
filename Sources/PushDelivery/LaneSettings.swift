package import PushCore

/// A lane, and the settings for its pushes.
package struct LaneSettings: Sendable {
    package let lane: Lane
    package let sender: any PushSender
    /// The largest number of calls at once.
    package var concurrency: Int
    /// The largest number of calls per second; `nil` means no limit.
    package var rate: Int?
    /// The shortest time between two pushes to one device; only the latest of the waiting pushes
    /// is sent. `nil` means none.
    package var interval: Duration?
    /// The lane of the platform's other environment, for a device that is unknown in this one;
    /// `nil`: there is no such lane.
    package var otherEnvironment: Lane?
    /// Whether each push has the number of its user's unread notifications.
    package var countsUnread = false
    /// Whether each device has named a host of its own: then no failure pauses the lane.
    package var hasUnrelatedHosts = false
    /// The longest wait of the lane's loop, if other servers may enqueue pushes without waking it;
    /// `nil`: the general setting of all lanes.
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

    /// The settings of this lane's lane of looks: `sender` sends pushes that show nothing and make
    /// the devices sync. That lane has a tenth of the rate, and few calls at a time, and so leaves
    /// most of both to notifications.
    package func ofLooks(by sender: any PushSender) -> LaneSettings {
        LaneSettings(
            self.lane.ofLooks,
            sender: sender,
            concurrency: max(1, min(self.concurrency, 100) / 4),
            rate: self.rate.map { max(1, $0 / 10) }
        )
    }
}

/// Settings for leasing pushes from the outbox and settling them.
package struct DeliverySettings: Sendable, Hashable {
    /// The largest number of pushes of a lane that are being sent or not yet settled. After a
    /// crash the lane sends at most this many again.
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
