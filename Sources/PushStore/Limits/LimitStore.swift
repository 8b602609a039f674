/// Exchanges the delays and pauses of lanes between servers. A store of a single server has no
/// `LimitStore`.
package protocol LimitStore: Sendable {
    /// Stores the new delays and pauses of the server `process`, and returns those of the other
    /// servers.
    ///
    /// `process` is a number that the server has drawn at random: rows with another number are
    /// another server's. The caller may repeat the call after an error. Throws `StoreError`.
    func exchange(_ news: LimitNews, of process: Int64) async throws -> LimitAnswer

    /// Deletes delays and pauses that have ended. Throws `StoreError`.
    func deleteOldNews() async throws
}

/// The delays and pauses of one server's lanes that the other servers do not know yet.
package struct LimitNews: Sendable, Hashable {
    /// Delays that providers have asked for.
    package var delays: [LaneDelay] = []
    /// Pauses of lanes that have begun, become longer or ended.
    package var pauses: [LanePause] = []

    package init() {}
}

/// The delays and pauses that the other servers have reported.
package struct LimitAnswer: Sendable {
    /// The delays that have not ended and that providers have asked other servers for.
    package var delays: [LaneDelay] = []
    /// The latest pauses that other servers have reported, ended ones included.
    package var pauses: [LanePause] = []
    /// How many servers are alive, including this one.
    package var servers = 1

    package init() {}
}

/// A delay that a lane's provider has asked for.
package struct LaneDelay: Sendable, Hashable {
    package let lane: String
    /// How long the delay lasts from now on.
    package let length: Duration
    /// The reason in the provider's words.
    package let reason: String
    /// A number that distinguishes the delay from other delays of the lane; 0 before the delay is
    /// stored.
    package let number: Int64

    package init(lane: String, length: Duration, reason: String, number: Int64 = 0) {
        (self.lane, self.length, self.reason, self.number) = (lane, length, reason, number)
    }
}
