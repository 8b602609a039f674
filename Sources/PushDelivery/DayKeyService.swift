package import Foundation
package import Logging
internal import PushCore
package import PushStore

/// Destroys the keys of past days, soon after each has passed, in a store that has such keys.
package struct DayKeyService: Sendable {
    /// A search every ten minutes costs little. A key outlives its day by an hour, so ten minutes
    /// more change little, too.
    private static let interval = Duration.seconds(600)
    /// The pause after a failure, and while servers of an older version run.
    private static let pause = Duration.seconds(30)

    private let store: any KeyStore
    private let logger: Logger
    private let now: @Sendable () -> Date

    package init(store: any KeyStore, logger: Logger, now: @escaping @Sendable () -> Date) {
        (self.store, self.logger, self.now) = (store, logger, now)
    }

    /// Works at once and then at intervals, until shutdown.
    package func run() async throws {
        await repeatUntilShutdown { await self.turn() ? Self.interval : Self.pause }
    }

    private func turn() async -> Bool {
        do {
            guard let turn = try await self.store.turnDayKeys(now: self.now()) else { return true }
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
            return self.store.vault.days?.isSealing != false
        } catch is CancellationError {
            return true
        } catch {
            self.logger.report("destruction of day keys failed; it is retried", error)
            return false
        }
    }
}
