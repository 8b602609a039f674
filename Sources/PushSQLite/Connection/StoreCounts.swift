internal import PushCore
internal import PushStore
internal import Synchronization

/// The store's counts since the start. Any thread may use them.
final class StoreCounts: Sendable {
    /// The number of rows that could not be read and were set aside.
    let setAside = Atomic(0)
    /// The number of transactions that were rolled back and repeated.
    let repeated = Atomic(0)
    let checkpointFailures = Atomic(0)
    /// Transactions that erased data, which must be wiped.
    let erasures = Atomic(0)
    private let commits = Mutex(StoreReport.Commits(writes: 0, times: TimeHistogram()))
    /// The pages of the file, and the free ones among them, at the last check.
    private let pages = Atomic(0)
    private let free = Atomic(0)

    /// Counts a transaction: the writes in it, and how long its commit took.
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

    /// `nil` before the first check.
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
