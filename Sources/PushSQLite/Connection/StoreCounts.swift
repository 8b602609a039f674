internal import PushStore
internal import Synchronization

/// The store's counts since the start. Any thread may use them.
final class StoreCounts: Sendable {
    /// Rows that were set aside.
    let setAside = Atomic(0)
    /// Transactions that were rolled back and repeated.
    let repeated = Atomic(0)
    let checkpointFailures = Atomic(0)
    /// Transactions that erased data, which must be wiped.
    let erasures = Atomic(0)
}

extension Writer {
    /// Counts a row that cannot be read, and reports it to the operator.
    func noteSetAside(_ row: StoreEvent.SetAside) {
        self.counts.setAside.wrappingAdd(1, ordering: .relaxed)
        self.events(.setAside(row))
    }
}
