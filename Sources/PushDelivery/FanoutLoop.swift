internal import Foundation
internal import Logging
internal import PushCore
internal import PushStore
internal import ServiceLifecycle

/// Expands broadcasts: finds their devices page by page, until each device has a push in the
/// outbox.
struct FanoutLoop: Sendable {
    let store: any OutboxStore
    let pollInterval: Duration
    let wakeUp: WakeUp
    let logger: Logger
    let now: @Sendable () -> Date
    let signal: Signal

    /// Expands broadcasts until graceful shutdown or cancellation. The next process continues
    /// after the last expanded page.
    func run() async {
        await self.signal.signallingAtShutdown {
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                if await self.expand() { continue }
                await self.signal.wait(atMost: self.pollInterval)
            }
        }
    }

    /// Expands one page of a broadcast; returns `false` if no broadcast is being expanded, or if
    /// the expansion failed.
    private func expand() async -> Bool {
        do {
            guard let pushes = try await self.store.expandFanout(page: nil, now: self.now()) else { return false }
            if pushes > 0 { self.wakeUp() }
            return true
        } catch {
            self.logger.report("broadcast fan-out failed; it is retried", error)
            return false
        }
    }
}
