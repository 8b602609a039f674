internal import PushCore
internal import Synchronization

/// Tracks whether a store's disk is full, and counts the transactions and the unreadable rows. Any
/// thread may use it.
package final class StoreCondition: Sendable {
    private struct State {
        var isFull = false
        var setAside = 0
        var commits = StoreReport.Commits()
    }

    private let onEvent: @Sendable (StoreEvent) -> Void
    private let state = Mutex(State())

    package init(onEvent: @escaping @Sendable (StoreEvent) -> Void) {
        self.onEvent = onEvent
    }

    package var isFull: Bool { self.state.withLock { $0.isFull } }
    /// The number of rows that could not be read and were set aside.
    package var setAside: Int { self.state.withLock { $0.setAside } }
    package var commits: StoreReport.Commits { self.state.withLock { $0.commits } }

    /// Records whether the disk is full, and reports each change once; returns whether it has
    /// changed.
    @discardableResult
    package func record(isFull: Bool) -> Bool {
        let hasChanged = self.state.withLock { state in
            defer { state.isFull = isFull }
            return state.isFull != isFull
        }
        if hasChanged { self.onEvent(isFull ? .diskFull : .roomAgain) }
        return hasChanged
    }

    /// Counts a transaction: its callers' writes, and the duration of its commit.
    package func recordCommit(of writes: Int, after time: Duration) {
        self.state.withLock { state in
            state.commits.writes += writes
            state.commits.times.record(time)
        }
    }

    /// Counts a row that cannot be read, and reports it.
    package func record(_ row: StoreEvent.SetAside) {
        self.state.withLock { $0.setAside += 1 }
        self.onEvent(.setAside(row))
    }
}
