internal import PushStore
internal import Synchronization

/// Numbers that the store has counted since its start. Any thread may use them.
final class StoreCounts: Sendable {
    /// The number of transactions that were rolled back and repeated.
    let repeated = Atomic(0)
    let checkpointFailures = Atomic(0)
    /// The number of transactions that have erased data, which must then be wiped.
    let erasures = Atomic(0)
    /// The number of pages in the file, and the number of free pages, when the writer last read
    /// them.
    private let pages = Atomic(0)
    private let free = Atomic(0)

    func record(_ space: FileSpace) {
        self.pages.store(space.pages, ordering: .relaxed)
        self.free.store(space.free, ordering: .relaxed)
    }

    /// The size of the file; `nil` until the writer has read the number of pages.
    var file: StoreReport.File? {
        let pages = self.pages.load(ordering: .relaxed)
        if pages == 0 { return nil }
        let free = self.free.load(ordering: .relaxed)
        return StoreReport.File(bytes: pages * Writer.pageSize, freeBytes: free * Writer.pageSize)
    }
}
