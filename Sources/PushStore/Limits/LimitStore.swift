package import Foundation

/// Carries between servers what each of them must know of the others' limits. A store that one process has alone has none.
package protocol LimitStore: Sendable {
    /// Stores what this server says, unless it is empty or was stored before, and returns what the others say.
    ///
    /// May be repeated with the same round after an error. Throws `StoreError`.
    func exchange(_ round: LimitRound) async throws -> LimitAnswer

    /// Deletes what every server has read, and rests that have ended. Throws `StoreError`.
    func deleteOldNews() async throws
}

/// What one server says and asks in one exchange.
package struct LimitRound: Sendable {
    /// A number that the process has drawn at random: rows of another one are another server's.
    package let process: Int64
    /// One more than the last round in which this process said something.
    package let number: Int64
    package let news: LimitNews
    /// The last round of each other process that was read.
    package let read: [Int64: Int64]

    package init(process: Int64, number: Int64, news: LimitNews, read: [Int64: Int64]) {
        self.process = process
        self.number = number
        self.news = news
        self.read = read
    }
}

/// What one server says of its limits in one round.
package struct LimitNews: Sendable, Hashable {
    /// What users have used of their quotas.
    package var uses: [QuotaUse] = []
    package var signIns: [SignInNews] = []
    /// The lanes that the server sends from.
    package var lanes: [String] = []
    /// Rests that providers have asked for.
    package var rests: [LaneRest] = []
    /// Pauses of lanes that have begun, become longer or ended.
    package var pauses: [LanePause] = []

    package init() {}

    package var isEmpty: Bool {
        self.uses.isEmpty && self.signIns.isEmpty && self.lanes.isEmpty && self.rests.isEmpty && self.pauses.isEmpty
    }
}

/// What the others say.
package struct LimitAnswer: Sendable {
    /// What another server has said, and how long ago.
    package struct Message: Sendable {
        package let process: Int64
        package let round: Int64
        package let age: Duration
        /// `nil`: another version has written it, in a form that is not known here.
        package let news: LimitNews?

        package init(process: Int64, round: Int64, age: Duration, news: LimitNews?) {
            self.process = process
            self.round = round
            self.age = age
            self.news = news
        }
    }

    /// Those that were not read before, each server's in their order.
    package var messages: [Message] = []
    /// Whether there are more messages, which the next exchange returns.
    package var hasMore = false
    /// The rests that have not ended and that other servers have been asked for.
    package var rests: [LaneRest] = []
    /// The pauses that other servers have told of last, over ones included.
    package var pauses: [LanePause] = []
    /// How many servers are alive, this one among them.
    package var servers = 1

    package init() {}
}

/// A rest that a lane's provider has asked for.
package struct LaneRest: Sendable, Hashable {
    package let lane: String
    /// How long it lasts from now on.
    package let length: Duration
    /// In the provider's words.
    package let reason: String
    /// Tells it from other rests of the lane; 0 for one that is not stored yet.
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
    /// Adds what the others must know, and forgets it.
    func takeNews(into news: inout LimitNews, now: Date)

    /// Applies what the others say.
    func apply(_ answer: LimitAnswer, now: Date)
}
