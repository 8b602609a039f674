package import Foundation
package import Logging
package import PushCore
package import PushStore

/// Sends this server's delays and pauses of lanes to the other servers of a store, and applies the
/// delays and pauses of those servers. It also counts these servers.
///
/// While an exchange fails, the server continues with the last number of servers, and keeps the
/// delays and pauses that it could not send. No request is refused because of a failed exchange.
package actor LimitExchange {
    private let store: any LimitStore
    private let status: SenderStatus
    private let servers: ServerCount
    private let logger: Logger
    private let now: @Sendable () -> Date
    /// Identifies this server in the exchange. It is random, since the server's number in the
    /// store may change while the server runs.
    private let process = Int64.random(in: 1 ... .max)
    /// The delays and pauses of an exchange that has not succeeded yet.
    private var unsent: LimitNews?
    private var isFailing = false
    private var isRunning = false

    package init(
        store: any LimitStore,
        status: SenderStatus,
        servers: ServerCount,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.store = store
        self.status = status
        self.servers = servers
        self.logger = logger
        self.now = now
    }

    /// Runs one exchange. Does nothing if another exchange is running.
    package func exchange() async {
        if self.isRunning { return }
        self.isRunning = true
        defer { self.isRunning = false }
        do {
            let news = self.unsent ?? self.status.takeNews(now: self.now())
            self.unsent = news
            let (others, servers) = try await self.store.exchange(news, of: self.process)
            self.unsent = nil
            self.servers.record(servers)
            self.status.apply(others, of: servers, now: self.now())
            if self.isFailing { self.logger.notice("lanes shared with the other servers again") }
            self.isFailing = false
        } catch {
            self.record(error)
        }
    }

    // MARK: - Private

    private func record(_ error: any Error) {
        guard !self.isFailing else { return }
        self.isFailing = true
        self.logger.warning(
            "lanes not shared with the other servers; until they are, each server pauses its lanes alone",
            metadata: ["error": "\(error)"]
        )
    }
}
