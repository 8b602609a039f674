package import Foundation
package import Logging
package import PushStore

/// Sends this server's news to the other servers of a store, and applies theirs.
///
/// While that fails, each server continues with its own figures, and keeps its news: nothing is
/// refused because of it.
package actor LimitExchange {
    /// How many seconds the last round of another server is kept: longer than its rows live.
    private static let memory: TimeInterval = 600

    private let store: any LimitStore
    private let limits: [any SharedLimit]
    private let logger: Logger
    private let now: @Sendable () -> Date
    /// A random number, since the server's number may change while it runs.
    private let process = Int64.random(in: 1 ... .max)
    private var number: Int64 = 1
    /// News that was not stored yet, or may not have been.
    private var unsent: LimitNews?
    private var read: [Int64: (round: Int64, at: Date)] = [:]
    private var isFailing = false
    private var isRunning = false

    package init(
        store: any LimitStore,
        limits: [any SharedLimit],
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.store = store
        self.limits = limits
        self.logger = logger
        self.now = now
    }

    /// Exchanges once. A call while another one runs does nothing.
    package func exchange() async {
        if self.isRunning { return }
        self.isRunning = true
        defer { self.isRunning = false }
        do {
            var hasMore = true
            // A server that starts must read all news of the last minutes.
            while hasMore { hasMore = try await self.exchangeOnce().hasMore }
            if self.isFailing { self.logger.notice("limits shared with the other servers again") }
            self.isFailing = false
        } catch {
            self.record(error)
        }
    }

    // MARK: - Private

    private func exchangeOnce() async throws -> LimitAnswer {
        let news = self.unsent ?? self.takeNews()
        self.unsent = news
        let round = LimitRound(
            process: self.process,
            number: self.number,
            news: news,
            read: self.read.mapValues(\.round)
        )
        let answer = try await self.store.exchange(round)
        self.unsent = nil
        if !news.isEmpty { self.number += 1 }
        self.apply(answer)
        return answer
    }

    private func takeNews() -> LimitNews {
        var news = LimitNews()
        let now = self.now()
        for limit in self.limits { limit.takeNews(into: &news, now: now) }
        return news
    }

    private func apply(_ answer: LimitAnswer) {
        let now = self.now()
        for message in answer.messages { self.read[message.process] = (message.round, now) }
        self.read = self.read.filter { now.timeIntervalSince($0.value.at) < Self.memory }
        for limit in self.limits { limit.apply(answer, now: now) }
    }

    private func record(_ error: any Error) {
        guard !self.isFailing else { return }
        self.isFailing = true
        self.logger.warning(
            "limits not shared with the other servers; until they are, each server applies them alone",
            metadata: ["error": "\(error)"]
        )
    }
}
