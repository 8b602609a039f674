internal import Synchronization

/// Signals tasks that wait until the outcomes of a notification's pushes are stored. Any thread
/// may use this object.
package final class SettlementWatch: Sendable {
    /// The largest number of waiting tasks, and the largest number that wait for one user, so that
    /// nobody can exclude other users.
    private static let (limit, limitOfUser) = (1000, 100)

    private let waiters = Mutex<[NotificationID: (bell: Signal, user: Int64)]>([:])

    package init() {}

    /// Runs `body` for a user with a signal that is set whenever the outcome of a push of the
    /// notification is stored, and when the task is cancelled. The signal is `nil` if too many
    /// tasks wait, or another task waits for the same notification.
    package func watching<Result>(
        _ id: NotificationID,
        for user: Int64,
        _ body: (Signal?) async throws -> Result
    ) async rethrows -> Result {
        let bell = Signal()
        let isWatched = self.waiters.withLock { waiters in
            guard waiters.count < Self.limit, waiters[id] == nil,
                waiters.values.count(where: { $0.user == user }) < Self.limitOfUser
            else { return false }
            waiters[id] = (bell, user)
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
            for id in ids { waiters[id]?.bell.set() }
        }
    }
}
