package import Foundation
package import Logging
internal import PushCore
package import PushStore

/// Deletes expired data. Stores when each token was last used, and how many values each key has
/// encrypted.
///
/// No payload, encrypted or not, is kept longer than its publisher has requested, and no audit
/// entry is kept longer than the operator has configured.
package struct RetentionService: Sendable {
    /// The interval between two cleanups of notifications. Expired notifications may stay stored
    /// for this time, but nobody can read them. After a cleanup, devices stop showing them.
    private static let interval = Duration.seconds(1)
    /// The number of cleanups of notifications from one cleanup of all other data to the next.
    private static let roundsOfAll = 30
    /// The number of rows in one transaction: small enough that a waiting post is not noticeably
    /// delayed.
    private static let batch = 500

    private let store: any TokenStore & DeviceStore & NotificationStore & EventStore & AuditStore & KeyStore
    /// How long the audit is kept.
    private let auditKept: Duration
    /// How long events are kept.
    private let eventsKept: Duration
    /// The status of the receiver of events; `nil` if none is configured, so that clients can only
    /// list the events.
    private let receiver: EventStatus?
    private let logger: Logger
    private let now: @Sendable () -> Date

    package init(
        store: any TokenStore & DeviceStore & NotificationStore & EventStore & AuditStore & KeyStore,
        auditKept: Duration,
        eventsKept: Duration,
        receiver: EventStatus? = nil,
        logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.store = store
        self.auditKept = auditKept
        self.eventsKept = eventsKept
        self.receiver = receiver
        self.logger = logger
        self.now = now
    }

    /// Runs a cleanup at once, and then at intervals until shutdown.
    package func run() async throws {
        await repeatUntilShutdown(0) { round in
            await self.deleteExpired(onlyNotifications: round > 0)
            if round == 0 {
                await self.deleteOldEvents()
                await self.writeTokenUses()
                await self.writeSealCounts()
            }
            round = (round + 1) % Self.roundsOfAll
            return Self.interval
        }
        await self.writeTokenUses()
        await self.writeSealCounts()
    }

    private func writeSealCounts() async {
        do {
            try await self.store.writeSealCounts()
        } catch {
            self.logger.report("encryption counts not saved; they are saved later", error)
        }
    }

    private func writeTokenUses() async {
        do {
            while try await self.store.writeTokenUses(limit: Self.batch) == Self.batch {}
        } catch {
            self.logger.report("token last-used times not saved; they are saved later", error)
        }
    }

    private func deleteOldEvents() async {
        var dropped = 0
        do {
            let start = self.now() - self.eventsKept.timeInterval
            while true {
                let trimmed = try await self.store.trimEvents(before: start, limit: Self.batch)
                dropped += trimmed.undelivered
                if trimmed.count < Self.batch { break }
            }
        } catch {
            self.logger.report("deletion of old events failed; it is retried", error)
        }
        guard dropped > 0, let receiver else { return }
        receiver.recordDropped(dropped)
        self.logger.error(
            "events expired before the receiver acknowledged them, and were deleted",
            metadata: ["count": "\(dropped)"]
        )
    }

    private func deleteExpired(onlyNotifications: Bool) async {
        do {
            while try await self.store.deleteExpired(now: self.now(), page: Self.batch) {}
            if onlyNotifications { return }
            while try await self.store.deleteExpiredIdempotency(now: self.now(), limit: Self.batch) == Self.batch {}
            while try await self.store.deleteExpiredTokens(now: self.now(), limit: Self.batch) == Self.batch {}
            while try await self.store.deleteExpiredClaims(now: self.now(), limit: Self.batch) == Self.batch {}
            let start = self.now() - self.auditKept.timeInterval
            while try await self.store.trimAudit(before: start, limit: Self.batch) == Self.batch {}
        } catch {
            self.logger.report("deletion of expired data failed; it is retried", error)
        }
    }
}
