/// Exchanges between servers the delays and pauses of lanes. A store that one server has alone has
/// none.
package protocol LimitStore: Sendable {
    /// Stores the news of the server `process`, and returns the others' delays and pauses.
    ///
    /// `process` is a number that the server has drawn at random: rows with another number are
    /// another server's. May be repeated after an error. Throws `StoreError`.
    func exchange(_ news: LimitNews, of process: Int64) async throws -> LimitAnswer

    /// Deletes delays and pauses that have ended. Throws `StoreError`.
    func deleteOldNews() async throws
}

/// One server's news of its lanes.
package struct LimitNews: Sendable, Hashable {
    /// Delays that providers have asked for.
    package var delays: [LaneDelay] = []
    /// Pauses of lanes that have begun, become longer or ended.
    package var pauses: [LanePause] = []

    package init() {}
}

/// The others' news.
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
    /// The length from now on.
    package let length: Duration
    /// In the provider's words.
    package let reason: String
    /// Distinguishes the delay from others of the lane; 0 before it is stored.
    package let number: Int64

    package init(lane: String, length: Duration, reason: String, number: Int64 = 0) {
        self.lane = lane
        self.length = length
        self.reason = reason
        self.number = number
    }
}
