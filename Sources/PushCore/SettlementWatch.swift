internal import Synchronization

/// Rings for who waits until what became of a notification's pushes is written down. From any thread.
package final class SettlementWatch: Sendable {
    /// How many may wait.
    private static let bound = 1000

    private let waiters = Mutex<[NotificationID: Signal]>([:])

    package init() {}

    /// Runs `body` with a bell that rings at each news of the notification, and when the task is cancelled; without one if too
    /// many wait.
    package func watching<Result>(
        _ id: NotificationID,
        _ body: (Signal?) async throws -> Result
    ) async rethrows -> Result {
        let bell = Signal()
        let isWatched = self.waiters.withLock { waiters in
            guard waiters.count < Self.bound, waiters[id] == nil else { return false }
            waiters[id] = bell
            return true
        }
        guard isWatched else { return try await body(nil) }
        defer { self.waiters.withLock { $0[id] = nil } }
        return try await withTaskCancellationHandler {
            try await body(bell)
        } onCancel: {
            bell.set()
        }
    }

    /// It is written down what became of pushes of these notifications.
    package func settled(_ ids: some Sequence<NotificationID>) {
        self.waiters.withLock { waiters in
            if waiters.isEmpty { return }
            for id in ids { waiters[id]?.set() }
        }
    }
}
