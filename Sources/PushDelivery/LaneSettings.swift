package import PushCore

/// A lane and how its pushes are sent.
package struct LaneSettings: Sendable {
    package let lane: Lane
    package let sender: any PushSender
    /// How many calls may run at once.
    package var concurrency: Int
    /// The most calls per second; `nil` means no limit.
    package var rate: Int?
    /// The least time between two pushes to one device; of the pushes that wait, only the latest is sent. `nil` means
    /// none.
    package var interval: Duration?
    /// The lane of the platform's other environment, where a device that is unknown in this one is tried; `nil`: none.
    package var otherEnvironment: Lane?
    /// The longest time that its loop waits, if others may enqueue pushes without telling it; `nil`: as the lanes do in general.
    package var rest: Duration?

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
}

/// How pushes are taken from the outbox and settled.
package struct DeliverySettings: Sendable, Hashable {
    /// The most pushes of a lane that are under way or not yet settled, and so the most that are sent twice after a
    /// crash.
    package var inFlight: Int
    /// The longest time that a loop waits, in case a wake-up is missed.
    package var rest: Duration
    /// How long outcomes are gathered, so that many share one commit.
    package var settleAfter: Duration

    package init(
        inFlight: Int = 1000,
        rest: Duration = .seconds(5),
        settleAfter: Duration = .milliseconds(20)
    ) {
        self.inFlight = inFlight
        self.rest = rest
        self.settleAfter = settleAfter
    }
}
