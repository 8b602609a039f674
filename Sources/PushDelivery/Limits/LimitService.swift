package import Foundation
package import Logging
package import PushCore
package import PushStore

/// Runs the exchange of lanes' delays and pauses with the servers that share the store.
package struct LimitService: Sendable {
    /// The time between two exchanges. An exchange without a new delay or pause needs two queries.
    /// A new delay or pause reaches the other servers within two intervals.
    private static let interval = Duration.milliseconds(500)
    /// The number of exchanges between two deletions of old rows.
    private static let exchangesUntilDeletion = 60

    private let store: any LimitStore
    private let exchange: LimitExchange
    private let logger: Logger

    package init(
        store: any LimitStore,
        status: SenderStatus,
        servers: ServerCount,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.store = store
        self.exchange = LimitExchange(store: store, status: status, servers: servers, logger: logger, now: now)
        self.logger = logger
    }

    /// Runs an exchange at once, and then at intervals until shutdown.
    package func run() async throws {
        await repeatUntilShutdown(0) { count in
            await self.exchange.exchange()
            count += 1
            if count.isMultiple(of: Self.exchangesUntilDeletion) { await self.deleteOldNews() }
            return Self.interval
        }
    }

    private func deleteOldNews() async {
        do {
            try await self.store.deleteOldNews()
        } catch {
            self.logger.report("deletion of old delays and pauses failed; it is retried", error)
        }
    }
}
