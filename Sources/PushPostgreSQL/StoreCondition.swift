internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Synchronization

/// Tracks whether the store takes writes, and counts for its report. Any thread may use it.
final class StoreCondition: Sendable {
    private struct State {
        var isFull = false
        var isClosed = false
        var missingKeys: Set<UInt32> = []
    }

    private let mark: (any DatabaseMarkKeeper)?
    private let onEvent: @Sendable (StoreEvent) -> Void
    private let state = Mutex(State())
    /// Transactions that run, or wait for a connection.
    let waiting = Atomic(0)
    /// Rows that could not be read and were set aside.
    let setAside = Atomic(0)
    private let commits = Mutex(StoreReport.Commits(writes: 0, times: TimeHistogram()))

    init(mark: (any DatabaseMarkKeeper)?, onEvent: @escaping @Sendable (StoreEvent) -> Void) {
        (self.mark, self.onEvent) = (mark, onEvent)
    }

    var isFull: Bool { self.state.withLock { $0.isFull } }
    var isClosed: Bool { self.state.withLock { $0.isClosed } }

    /// `false` if the store was closed before.
    func beginClosing() -> Bool {
        self.state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
    }

    /// Records that a write succeeded, or that the database's disk was full; reports each change
    /// once.
    func record(isFull: Bool) {
        let hasChanged = self.state.withLock { state in
            defer { state.isFull = isFull }
            return state.isFull != isFull
        }
        if hasChanged { self.onEvent(isFull ? .diskFull : .roomAgain) }
    }

    /// Counts a transaction: its callers' writes, and the duration of its commit.
    func recordCommit(of writes: Int, after time: Duration) {
        self.commits.withLock { commits in
            commits.writes += writes
            commits.times.record(time)
        }
    }

    var committed: StoreReport.Commits { self.commits.withLock { $0 } }

    /// Reports the pool's events about the database's servers.
    func record(_ event: ClusterEvent) {
        switch event {
        case .refused(let fault): self.onEvent(.databaseRefused(reason: fault.description))
        case .trusted: self.onEvent(.databaseTrusted)
        case .advanced(let identity): self.keep(identity)
        }
    }

    /// Stores the mark of a newer timeline before any write on it is acknowledged. This waits for
    /// the disk, but only once for each failover.
    private func keep(_ identity: ClusterIdentity) {
        do {
            try self.mark?.keep(DatabaseMark(identity))
        } catch {
            // The server still has the identity in memory, until it ends.
            self.onEvent(.markNotKept(reason: "\(error)"))
        }
    }

    /// Reports a data key that this server lacks, once.
    func record(missingKey number: UInt32) {
        let isNew = self.state.withLock { $0.missingKeys.insert(number).inserted }
        if isNew { self.onEvent(.keyMissing(number)) }
    }

    /// Records and reports a row that cannot be read.
    func record(_ row: StoreEvent.SetAside) {
        self.setAside.wrappingAdd(1, ordering: .relaxed)
        self.onEvent(.setAside(row))
    }
}
