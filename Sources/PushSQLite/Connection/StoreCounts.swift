internal import PushStore
internal import Synchronization

/// The store's counts since the start. Any thread may use them.
final class StoreCounts: Sendable {
    /// The number of transactions that were rolled back and repeated.
    let repeated = Atomic(0)
    let checkpointFailures = Atomic(0)
    /// Transactions that erased data, which must be wiped.
    let erasures = Atomic(0)
    /// The pages of the file, and the free ones among them, at the last check.
    private let pages = Atomic(0)
    private let free = Atomic(0)

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
