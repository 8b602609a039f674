internal import Synchronization

/// Signals tasks that wait until the outcomes of a notification's pushes are stored. Any thread
/// may use this object.
package final class SettlementWatch: Sendable {
    /// The largest number of waiting tasks.
    private static let limit = 1000

    private let waiters = Mutex<[NotificationID: Signal]>([:])

    package init() {}

    /// Runs `body` with a signal that is set whenever the outcome of a push of the notification is
    /// stored, and when the task is cancelled. The signal is `nil` if too many tasks wait, or
    /// another task waits for the same notification.
    package func watching<Result>(
        _ id: NotificationID,
        _ body: (Signal?) async throws -> Result
    ) async rethrows -> Result {
        let bell = Signal()
        let isWatched = self.waiters.withLock { waiters in
            guard waiters.count < Self.limit, waiters[id] == nil else { return false }
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

    /// Signals the tasks that wait for these notifications, after outcomes of their pushes were
    /// stored.
    package func settled(_ ids: some Sequence<NotificationID>) {
        self.waiters.withLock { waiters in
            if waiters.isEmpty { return }
            for id in ids { waiters[id]?.set() }
        }
    }
}
