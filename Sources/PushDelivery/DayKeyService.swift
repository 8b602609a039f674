package import Foundation
package import Logging
package import PushCore
package import PushStore

/// Destroys the key of each day soon after the day has passed, if the store has day keys.
package struct DayKeyService: Sendable {
    /// The interval between two searches for keys of past days. A search costs little. A key stays
    /// for an hour after its day anyway, so ten more minutes change little.
    private static let interval = Duration.seconds(600)
    /// The interval after a failed search. It also applies as long as servers of an older version
    /// share the store.
    private static let pause = Duration.seconds(30)

    private let cluster: any Cluster
    private let vault: Vault
    private let logger: Logger
    private let now: @Sendable () -> Date

    package init(cluster: any Cluster, vault: Vault, logger: Logger, now: @escaping @Sendable () -> Date) {
        (self.cluster, self.vault, self.logger, self.now) = (cluster, vault, logger, now)
    }

    /// Searches for keys of past days at once, and then at intervals until shutdown.
    package func run() async throws {
        await repeatUntilShutdown { await self.turn() ? Self.interval : Self.pause }
    }

    private func turn() async -> Bool {
        do {
            guard let turn = try await self.cluster.turnDayKeys(now: self.now()) else { return true }
            if turn.begins { self.logger.notice("day keys encrypt payloads from now on") }
            if turn.erased > 0 {
                self.logger.warning(
                    "read-once payloads erased, because their day key was destroyed",
                    metadata: ["payloads": "\(turn.erased)"]
                )
            }
            if let day = turn.destroyedBefore {
                self.logger.info("day keys destroyed", metadata: ["before": "\(day)", "renewed": "\(turn.renewed)"])
            }
            return self.vault.days?.isSealing != false
        } catch is CancellationError {
            return true
        } catch {
            self.logger.report("destruction of day keys failed; it is retried", error)
            return false
        }
    }
}
