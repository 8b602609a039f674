package import Foundation
package import Logging
package import PushCore
package import PushStore
internal import ServiceLifecycle

/// Sends the pushes in the outbox to the providers: it leases pushes, sends them, stores the
/// results, and begins again.
///
/// Each lane (the queue of pushes to one provider) has a loop of its own, so that a slow provider
/// delays no other provider's pushes. After a crash, the leases expire, and the pushes are leased
/// again.
package struct DeliveryService {
    private let store: any Store
    private let lanes: [(settings: LaneSettings, reader: any StoreReader)]
    private let settings: DeliverySettings
    private let status: SenderStatus
    private let links: ProcessLinks
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let executor: (any TaskExecutor)?

    /// `executor` runs the senders' calls; it should be the event loop of their connections.
    ///
    /// Throws `StoreError` if the outbox cannot be read.
    package init(
        store: any Store,
        lanes: [LaneSettings],
        settings: DeliverySettings = DeliverySettings(),
        status: SenderStatus,
        links: ProcessLinks,
        logger: Logger,
        executor: (any TaskExecutor)? = nil,
        now: @escaping @Sendable () -> Date
    ) throws(StoreError) {
        self.store = store
        self.lanes = try lanes.map { lane throws(StoreError) in (lane, try store.makeReader()) }
        self.settings = settings
        self.status = status
        self.links = links
        self.logger = logger
        self.executor = executor
        self.now = now
    }

    /// Sends pushes until shutdown, and then waits for the pushes that are being sent.
    package func run() async throws {
        try await self.store.reclaimLeases(now: self.now())
        await self.reportLanesWithoutSender()
        try await withThrowingDiscardingTaskGroup { group in
            // A service runs until shutdown, also when no sender is configured.
            group.addTask { try await gracefulShutdown() }
            let fanout = FanoutLoop(
                store: self.store,
                pollInterval: self.settings.pollInterval,
                wakeUp: self.links.workIsWaiting,
                logger: self.logger,
                now: self.now,
                signal: self.links.workIsWaiting.makeSignal()
            )
            group.addTask { await fanout.run() }
            let release = ReleaseLoop(
                store: self.store,
                schedule: self.links.schedule,
                pollInterval: self.settings.pollInterval,
                wakeUp: self.links.workIsWaiting,
                logger: self.logger,
                now: self.now
            )
            group.addTask { await release.run() }
            for (lane, reader) in self.lanes {
                let state = SharedLane(lane, inFlight: self.settings.inFlight, logger: self.logger)
                let loop = LaneLoop(
                    lane: lane,
                    store: self.store,
                    cluster: self.store.cluster,
                    reader: reader,
                    settings: self.settings,
                    settlements: self.links.settlements,
                    traces: self.links.traces,
                    logger: self.logger,
                    now: self.now,
                    executor: self.executor,
                    state: state,
                    wakeUp: self.links.workIsWaiting,
                    signal: self.links.workIsWaiting.makeSignal()
                )
                if self.store.cluster != nil { state.withLock { $0.share(among: LaneState.unknownServers) } }
                self.status.watch(state)
                group.addTask { await loop.run() }
            }
        }
    }

    /// Logs a warning about pushes that no sender sends, since their sender is no longer in the
    /// configuration. Deletes such looks (pushes that tell a device to sync) instead.
    private func reportLanesWithoutSender() async {
        let known = Set(self.lanes.map(\.settings.lane.description))
        do {
            let tallies = try await self.store.makeReader().tallies()
            let waiting = tallies.filter { $0.value.pending > 0 && !known.contains($0.key) }.sorted { $0.key < $1.key }
            for (lane, tally) in waiting where !Lane(stored: lane).isOfLooks {
                self.logger.warning(
                    "pushes wait in a lane without a sender; configure the sender again, or they expire",
                    metadata: ["lane": "\(lane)", "pending": "\(tally.pending)"]
                )
            }
            let looks = waiting.map { Lane(stored: $0.key) }.filter(\.isOfLooks)
            if looks.isEmpty { return }
            // Another server may have the sender.
            let servers = try await self.store.cluster?.servers(limit: 10) ?? []
            if servers.contains(where: { !$0.isThis && $0.state != .gone }) { return }
            for lane in looks { while try await self.store.deleteLooks(in: lane, now: self.now()) {} }
        } catch {
            self.logger.report("check for lanes without a sender failed", error)
        }
    }
}
