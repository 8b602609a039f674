internal import PushCore
internal import PushStore
internal import Synchronization

/// Numbers that the store has counted since its start. Any thread may use them.
final class StoreCounts: Sendable {
    /// The number of rows that could not be read and were set aside.
    let setAside = Atomic(0)
    /// The number of transactions that were rolled back and repeated.
    let repeated = Atomic(0)
    let checkpointFailures = Atomic(0)
    /// The number of transactions that have erased data, which must then be wiped.
    let erasures = Atomic(0)
    private let commits = Mutex(StoreReport.Commits(writes: 0, times: TimeHistogram()))
    /// The number of pages in the file, and the number of free pages, at the last check.
    private let pages = Atomic(0)
    private let free = Atomic(0)

    /// Counts a transaction: the number of writes in it, and the duration of its commit.
    func recordCommit(of writes: Int, after time: Duration) {
        self.commits.withLock { commits in
            commits.writes += writes
            commits.times.record(time)
        }
    }

    var committed: StoreReport.Commits { self.commits.withLock { $0 } }

    func record(_ space: FileSpace) {
        self.pages.store(space.pages, ordering: .relaxed)
        self.free.store(space.free, ordering: .relaxed)
    }

    /// The size of the file; `nil` before the first check.
    var file: StoreReport.File? {
        let pages = self.pages.load(ordering: .relaxed)
        if pages == 0 { return nil }
        let free = self.free.load(ordering: .relaxed)
        return StoreReport.File(bytes: pages * Writer.pageSize, freeBytes: free * Writer.pageSize)
    }
}

extension Writer {
    /// Counts a row that cannot be read, and reports it to the operator.
    func recordSetAside(_ row: StoreEvent.SetAside) {
        self.counts.setAside.wrappingAdd(1, ordering: .relaxed)
        self.events(.setAside(row))
    }
}
