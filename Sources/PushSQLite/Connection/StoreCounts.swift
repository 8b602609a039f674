internal import PushStore
internal import Synchronization

/// What the store has counted since the start, and how much waits. From any thread.
final class StoreCounts: Sendable {
    /// Rows that were set aside.
    let setAside = Atomic(0)
    /// Transactions that were undone and done again.
    let repeated = Atomic(0)
    let checkpointFailures = Atomic(0)
    /// Transactions that left something to be wiped.
    let erasures = Atomic(0)
}

extension Writer {
    /// Counts a row that cannot be read, and tells the operator.
    func noteSetAside(_ row: StoreEvent.SetAside) {
        self.counts.setAside.wrappingAdd(1, ordering: .relaxed)
        self.events(.setAside(row))
    }
}
