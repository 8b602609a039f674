package import Foundation
package import Logging
internal import PushCore
package import PushStore

/// Erases read-once payloads when their leases end. During a lease, the recipient may fetch the
/// payload again.
package struct PayloadLeaseService: Sendable {
    /// The pause between two runs, in seconds: the leases that expire during the pause are ended
    /// together.
    private static let pause = 0.2
    /// The pause before a retry after a failure, in seconds.
    private static let retryPause = 1.0
    /// The largest number of leases that one transaction ends: small enough that a waiting post is
    /// not noticeably delayed.
    private static let batch = 250

    private let store: any NotificationStore
    private let logger: Logger
    private let now: @Sendable () -> Date

    package init(store: any NotificationStore, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.store = store
        self.logger = logger
        self.now = now
    }

    /// Erases payloads until shutdown: at once those whose leases ended while no server ran, and
    /// then others whenever a lease ends.
    package func run() async throws {
        await repeatUntilShutdown { .seconds(await self.endLeases()) }
    }

    /// Ends the expired leases; returns the number of seconds until the next run.
    private func endLeases() async -> TimeInterval {
        // The wait is never longer than a lease. All leases have the same length, so a lease that
        // begins after this run cannot end before the next run.
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
