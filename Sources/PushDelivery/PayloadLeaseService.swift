package import Foundation
package import Logging
internal import PushCore
package import PushStore

/// Erases read-once payloads when the leases of their recipients end.
package struct PayloadLeaseService: Sendable {
    /// The pause between two runs: leases that end meanwhile are ended together.
    private static let pause = 0.2
    /// The pause before a retry after a failure, in seconds.
    private static let retryPause = 1.0
    /// The number of leases ended in one transaction: small enough that a waiting post is not
    /// noticeably delayed.
    private static let batch = 250

    private let store: any NotificationStore
    private let logger: Logger
    private let now: @Sendable () -> Date

    package init(store: any NotificationStore, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.store = store
        self.logger = logger
        self.now = now
    }

    /// Runs at once, for leases that ended while no server ran, and then whenever a lease ends,
    /// until shutdown.
    package func run() async throws {
        await repeatUntilShutdown { .seconds(await self.endLeases()) }
    }

    /// Ends the expired leases; returns the seconds until the next run.
    private func endLeases() async -> TimeInterval {
        // All leases have the same length: a lease that begins after this run ends after the
        // longest wait.
        let longest = PayloadLease.length.timeInterval
        do {
            while !Task.isCancelled {
                let now = self.now()
                guard let end = try await self.store.endLeases(now: now, limit: Self.batch) else { return longest }
                if end > now { return min(max(end.timeIntervalSince(now), Self.pause), longest) }
            }
            return 0
        } catch {
            self.logger.report("erasure of read-once payloads failed; it is retried", error)
            return Self.retryPause
        }
    }
}
