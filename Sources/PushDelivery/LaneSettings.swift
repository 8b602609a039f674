package import PushCore

/// A lane and how its pushes are sent.
package struct LaneSettings: Sendable {
    package let lane: Lane
    package let sender: any PushSender
    /// Calls that are under way at once.
    package var concurrency: Int
    /// Calls a second at most; `nil`: as many as come.
    package var rate: Int?
    /// The least time between two pushes to one device, of which only the latest is then sent; `nil`: none.
    package var interval: Duration?

    package init(
        _ lane: Lane,
        sender: any PushSender,
        concurrency: Int = 100,
        rate: Int? = nil,
        interval: Duration? = nil
    ) {
        self.lane = lane
        self.sender = sender
        self.concurrency = concurrency
        self.rate = rate
        self.interval = interval
    }
}

/// How the outbox is worked off.
package struct DeliverySettings: Sendable, Hashable {
    /// Pushes of a lane that may be sent but not yet written down as such: so many are sent twice after a crash, at most.
    package var inFlight: Int
    /// The longest rest, in case a wake-up is ever missed.
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
