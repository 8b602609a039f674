package import PushCore

/// Exchanges the delays and pauses of lanes (queues of pushes to one provider) between the
/// servers that share a store.
package protocol LimitStore: Sendable {
    /// Stores the new delays and pauses of the server `process`. Returns the delays and pauses of
    /// the other servers, and the number of live servers, including this one. The returned delays
    /// have not ended yet; the returned pauses include ended ones.
    ///
    /// `process` is a number that this server has drawn at random; rows with another number belong
    /// to other servers. The caller may repeat the call after an error. Throws `StoreError`.
    func exchange(_ news: LimitNews, of process: Int64) async throws -> (others: LimitNews, servers: Int)

    /// Deletes delays and pauses that have ended. Throws `StoreError`.
    func deleteOldNews() async throws
}

/// Delays and pauses of lanes that a server reports to the other servers.
package struct LimitNews: Sendable, Hashable {
    /// Delays that providers have requested.
    package var delays: [LaneDelay] = []
    /// Pauses that have begun, become longer, or ended.
    package var pauses: [LanePause] = []

    package init() {}
}

/// A delay that a provider has requested for its lane (its queue of pushes).
package struct LaneDelay: Sendable, Hashable {
    package let lane: String
    /// How long the delay lasts from now on.
    package let length: Duration
    /// The reason for the delay, in the provider's words.
    package let reason: String
    /// A number that distinguishes this delay from other delays of the lane; 0 before the delay is
    /// stored.
    package let number: Int64

    package init(lane: String, length: Duration, reason: String, number: Int64 = 0) {
        (self.lane, self.length, self.reason, self.number) = (lane, length, reason, number)
    }
}

/// The pause of a lane (the queue of pushes to one provider), in the form that servers report to
/// each other.
package struct LanePause: Sendable, Hashable {
    package let lane: String
    /// The running pause; `nil` if it has ended, because the provider has answered.
    package let ongoing: Ongoing?
    /// A number that distinguishes this report from earlier reports about the lane; 0 before the
    /// report is stored.
    package let number: Int64

    package struct Ongoing: Sendable, Hashable {
        package let cause: Pause.Cause
        /// The reason for the pause, in the provider's words.
        package let reason: String
        /// How long the pause has lasted.
        package let age: Duration
        /// How long, from now on, no server sends a push of the lane, not even a probe (a push
        /// that tests the provider). Negative if a probe is already allowed.
        package let length: Duration
        /// The number of delays in this pause so far: each failed probe begins another.
        package let delayCount: Int

        package init(cause: Pause.Cause, reason: String, age: Duration, length: Duration, delayCount: Int) {
            (self.cause, self.reason, self.age) = (cause, reason, age)
            (self.length, self.delayCount) = (length, delayCount)
        }
    }

    package init(lane: String, _ ongoing: Ongoing?, number: Int64 = 0) {
        (self.lane, self.ongoing, self.number) = (lane, ongoing, number)
    }
}
