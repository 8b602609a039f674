internal import Foundation
internal import Logging
internal import PushCore
internal import PushStore
internal import ServiceLifecycle

/// Sends scheduled notifications when they are due.
struct ReleaseLoop: Sendable {
    /// The shortest pause between two runs: notifications that become due during the pause share a
    /// commit.
    private static let pause = Duration.milliseconds(20)
    /// The delay after a failure of the store: an immediate retry would most likely fail, too.
    private static let delayAfterFailure = Duration.seconds(1)

    let store: any OutboxStore
    let schedule: ReleaseSchedule
    /// The longest wait of the loop. If the clock is set forward, a notification is late by at
    /// most this time.
    let pollInterval: Duration
    let wakeUp: WakeUp
    let logger: Logger
    let now: @Sendable () -> Date

    /// Sends notifications until graceful shutdown or cancellation. Sends at once those that
    /// became due while no server ran.
    func run() async {
        await self.schedule.signal.signallingAtShutdown {
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                await self.schedule.signal.wait(atMost: await self.release())
            }
        }
    }

    /// Sends all notifications that are due; returns how long the loop may wait.
    private func release() async -> Duration {
        self.schedule.begin()
        do {
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                let now = self.now()
                let release = try await self.store.releaseScheduled(limit: nil, now: now)
                if release.hasWork { self.wakeUp() }
                for id in release.refused {
                    self.logger.warning(
                        "scheduled notification not sent; its sender was deleted, is disabled or lacks the role",
                        metadata: ["notification": "\(id)"]
                    )
                }
                guard let next = release.nextDue else { return self.pollInterval }
                if next > now {
                    self.schedule.plan(next)
                    return min(max(.seconds(next.timeIntervalSince(now)), Self.pause), self.pollInterval)
                }
            }
            return .zero
        } catch {
            self.logger.report("sending of scheduled notifications failed; it is retried", error)
            return Self.delayAfterFailure
        }
    }
}
