internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Synchronization

/// Tracks whether the store accepts writes, and counts events for its report. Any thread may use
/// this object.
final class StoreCondition: Sendable {
    private struct State {
        var isFull = false
        var isClosed = false
        var missingKeys: Set<UInt32> = []
    }

    private let mark: (any DatabaseMarkKeeper)?
    private let onEvent: @Sendable (StoreEvent) -> Void
    private let state = Mutex(State())
    /// The number of transactions that are running or waiting for a connection.
    let waiting = Atomic(0)
    /// The number of rows that could not be read and were set aside.
    let setAside = Atomic(0)
    private let commits = Mutex(StoreReport.Commits(writes: 0, times: TimeHistogram()))

    init(mark: (any DatabaseMarkKeeper)?, onEvent: @escaping @Sendable (StoreEvent) -> Void) {
        (self.mark, self.onEvent) = (mark, onEvent)
    }

    var isFull: Bool { self.state.withLock { $0.isFull } }
    var isClosed: Bool { self.state.withLock { $0.isClosed } }

    /// Records that the store is being closed; `false` if it was closed before.
    func beginClosing() -> Bool {
        self.state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
    }

    /// Records that a write has succeeded, or that it has failed because the database's disk is
    /// full. Reports only a change between the two.
    func record(isFull: Bool) {
        let hasChanged = self.state.withLock { state in
            defer { state.isFull = isFull }
            return state.isFull != isFull
        }
        if hasChanged { self.onEvent(isFull ? .diskFull : .roomAgain) }
    }

    /// Counts a transaction: the number of writes in it, and the duration of its commit.
    func recordCommit(of writes: Int, after time: Duration) {
        self.commits.withLock { commits in
            commits.writes += writes
            commits.times.record(time)
        }
    }

    var committed: StoreReport.Commits { self.commits.withLock { $0 } }

    /// Reports an event of the connection pool about the database's servers.
    func record(_ event: ClusterEvent) {
        switch event {
        case .refused(let fault): self.onEvent(.databaseRefused(reason: fault.description))
        case .trusted: self.onEvent(.databaseTrusted)
        case .advanced(let identity): self.keep(identity)
        }
    }

    /// Stores the newer timeline in the server's `DatabaseMark` before the store acknowledges any
    /// write on this timeline. This waits for the disk, but only once for each failover.
    private func keep(_ identity: ClusterIdentity) {
        do {
            try self.mark?.keep(DatabaseMark(identity))
        } catch {
            // Until this process ends, it still has the new timeline in memory.
            self.onEvent(.markNotKept(reason: "\(error)"))
        }
    }

    /// Reports once that this server lacks a data key.
    func record(missingKey number: UInt32) {
        let isNew = self.state.withLock { $0.missingKeys.insert(number).inserted }
        if isNew { self.onEvent(.keyMissing(number)) }
    }

    /// Counts and reports a row that cannot be read.
    func record(_ row: StoreEvent.SetAside) {
        self.setAside.wrappingAdd(1, ordering: .relaxed)
        self.onEvent(.setAside(row))
    }
}
