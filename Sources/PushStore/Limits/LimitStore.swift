package import Foundation

/// Exchanges between servers the data that they need about each other's limits. A store that one
/// server has alone has none.
package protocol LimitStore: Sendable {
    /// Stores this server's news, unless it is empty or was stored before, and returns the others'
    /// news.
    ///
    /// May be repeated with the same round after an error. Throws `StoreError`.
    func exchange(_ round: LimitRound) async throws -> LimitAnswer

    /// Deletes news that every server has read, and delays that have ended. Throws `StoreError`.
    func deleteOldNews() async throws
}

/// One server's news and questions in one exchange.
package struct LimitRound: Sendable {
    /// A number that the server has drawn at random: rows with another number are another
    /// server's.
    package let process: Int64
    /// One more than the number of this server's last round with news.
    package let number: Int64
    package let news: LimitNews
    /// The last round of each other server that was read.
    package let read: [Int64: Int64]

    package init(process: Int64, number: Int64, news: LimitNews, read: [Int64: Int64]) {
        self.process = process
        self.number = number
        self.news = news
        self.read = read
    }
}

/// One server's news of its limits in one round.
package struct LimitNews: Sendable, Hashable {
    /// The requests that users have charged to their quotas.
    package var uses: [QuotaUse] = []
    package var signIns: [SignInNews] = []
    /// The lanes that the server sends from.
    package var lanes: [String] = []
    /// Delays that providers have asked for.
    package var delays: [LaneDelay] = []
    /// Pauses of lanes that have begun, become longer or ended.
    package var pauses: [LanePause] = []

    package init() {}

    package var isEmpty: Bool {
        self.uses.isEmpty && self.signIns.isEmpty && self.lanes.isEmpty && self.delays.isEmpty && self.pauses.isEmpty
    }
}

/// The others' news.
package struct LimitAnswer: Sendable {
    /// Another server's news, and its age.
    package struct Message: Sendable {
        package let process: Int64
        package let round: Int64
        package let age: Duration
        /// `nil`: another version wrote it, in a form that this version does not know.
        package let news: LimitNews?

        package init(process: Int64, round: Int64, age: Duration, news: LimitNews?) {
            self.process = process
            self.round = round
            self.age = age
            self.news = news
        }
    }

    /// The messages that were not read before; each server's are in order.
    package var messages: [Message] = []
    /// Whether there are more messages, which the next exchange returns.
    package var hasMore = false
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

/// A part of the server whose limits hold across servers.
package protocol SharedLimit: Sendable {
    /// Moves the news for the other servers out of this limit and into `news`.
    func takeNews(into news: inout LimitNews, now: Date)

    /// Applies the other servers' news.
    func apply(_ answer: LimitAnswer, now: Date)
}
