internal import PushCore
internal import Synchronization

/// Tracks whether a store's disk is full, its file damaged, or its database unusable. Counts the
/// transactions and the unreadable rows. Any thread may use it.
package final class StoreCondition: Sendable {
    private struct State {
        var isFull = false
        var damage: StoreError?
        /// The reasons why the database cannot be used.
        var unusable: Set<String> = []
        var lastUnusable = ContinuousClock.now
        var setAside = 0
        var commits = StoreReport.Commits()
    }

    private let onEvent: @Sendable (StoreEvent) -> Void
    private let state = Mutex(State())

    package init(onEvent: @escaping @Sendable (StoreEvent) -> Void) {
        self.onEvent = onEvent
    }

    package var isFull: Bool { self.state.withLock { $0.isFull } }
    /// The first error about a damaged file; only a restart resets it.
    package var damage: StoreError? { self.state.withLock { $0.damage } }
    /// Whether an operation has failed because the database cannot be used until an operator acts.
    package var isUnusable: Bool { self.state.withLock { !$0.unusable.isEmpty } }
    /// The number of rows that could not be read and were set aside.
    package var setAside: Int { self.state.withLock { $0.setAside } }
    package var commits: StoreReport.Commits { self.state.withLock { $0.commits } }

    /// Records whether the disk is full, and reports each change; returns whether it has changed.
    @discardableResult
    package func record(isFull: Bool) -> Bool {
        let hasChanged = self.state.withLock { state in
            defer { state.isFull = isFull }
            return state.isFull != isFull
        }
        if hasChanged { self.onEvent(isFull ? .diskFull : .roomAgain) }
        return hasChanged
    }

    /// Records a damaged file or an unusable database, and reports it once; ignores other errors.
    package func record(_ error: StoreError) {
        switch error {
        case .damagedFile(let reason):
            let isNew = self.state.withLock { state in
                defer { state.damage = state.damage ?? error }
                return state.damage == nil
            }
            if isNew { self.onEvent(.fileDamaged(reason: reason)) }
        case .unusable(_, let reason):
            let isNew = self.state.withLock { state in
                state.lastUnusable = .now
                return state.unusable.insert(reason).inserted
            }
            if isNew { self.onEvent(.databaseUnusable(reason: reason)) }
        default: break
        }
    }

    /// Records that the database can be used again, unless an operation has failed within `pause`.
    package func recordUsable(after pause: Duration) {
        let hasChanged = self.state.withLock { state in
            guard !state.unusable.isEmpty, .now - state.lastUnusable >= pause else { return false }
            state.unusable = []
            return true
        }
        if hasChanged { self.onEvent(.databaseUsable) }
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
