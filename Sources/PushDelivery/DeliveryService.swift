package import Foundation
package import Logging
package import PushCore
package import PushStore
internal import ServiceLifecycle

/// Brings what is in the outbox to the providers: claim, send, settle, and again.
///
/// Each sender has its own loop, so that a slow provider delays nobody else. A crash anywhere leaves leases that end.
package struct DeliveryService {
    private let store: Store
    private let senders: [Platform: any PushSender]
    private let settings: DeliverySettings
    private let wakeUp: WakeUp
    private let status: SenderStatus
    private let logger: Logger
    private let now: @Sendable () -> Date

    package init(
        store: Store,
        senders: [Platform: any PushSender],
        settings: DeliverySettings = DeliverySettings(),
        wakeUp: WakeUp,
        status: SenderStatus,
        logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.store = store
        self.senders = senders
        self.settings = settings
        self.wakeUp = wakeUp
        self.status = status
        self.logger = logger
        self.now = now
    }

    /// Sends until shutdown; pushes that are on the way then are finished first.
    package func run() async throws {
        try await self.store.reclaimLeases(now: self.now())
        try await withThrowingDiscardingTaskGroup { group in
            // A service runs until it is told to stop, also when no sender is configured.
            group.addTask { try await gracefulShutdown() }
            for (platform, sender) in self.senders {
                let loop = SenderLoop(
                    platform: platform,
                    sender: sender,
                    store: self.store,
                    reader: try self.store.makeReader(),
                    settings: self.settings,
                    status: self.status,
                    logger: self.logger,
                    now: self.now,
                    signal: self.wakeUp.makeSignal()
                )
                group.addTask { await loop.run() }
            }
        }
    }
}

/// How the outbox is worked off.
package struct DeliverySettings: Sendable, Hashable {
    /// Pushes of one sender that are on the way at once.
    package var concurrency: Int
    /// For how long a claimed push is nobody else's: longer than any sender's deadline.
    package var lease: Duration
    /// The longest rest, in case a wake-up is ever missed.
    package var rest: Duration

    package init(concurrency: Int = 200, lease: Duration = .seconds(120), rest: Duration = .seconds(5)) {
        self.concurrency = concurrency
        self.lease = lease
        self.rest = rest
    }
}
