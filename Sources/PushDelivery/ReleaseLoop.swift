internal import Foundation
internal import Logging
internal import PushCore
internal import PushStore
internal import ServiceLifecycle

/// Sends scheduled notifications when they are due.
struct ReleaseLoop: Sendable {
    /// The shortest pause: notifications that become due meanwhile share a commit.
    private static let pause = Duration.milliseconds(20)
    /// The delay after a failure of the store, which an immediate retry would most likely meet
    /// again.
    private static let delayAfterFailure = Duration.seconds(1)

    let store: any OutboxStore
    let schedule: ReleaseSchedule
    /// The longest wait, and so the longest lateness of a notification if the clock is set
    /// forward.
    let pollInterval: Duration
    let wakeUp: WakeUp
    let logger: Logger
    let now: @Sendable () -> Date

    /// Works until graceful shutdown or cancellation; sends at once the notifications that became
    /// due while no server ran.
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
