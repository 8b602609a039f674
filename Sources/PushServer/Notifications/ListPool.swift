internal import PushAPI
package import PushStore

/// A few threads that build long lists, each with a reader of its own, so that no event loop waits
/// for a list.
package final class ListPool: Sendable {
    private let readers: [any StoreReader]
    private let pool: FairPool

    /// Creates a worker for each reader. Only the workers may use the readers.
    package init(_ readers: [any StoreReader]) {
        self.readers = readers
        self.pool = FairPool(
            workers: readers.count,
            timeout: .seconds(10),
            refusal: Problem(.busy, "the queue of long lists is full")
        )
    }

    /// Runs slow work of a user off the event loop. Rethrows the errors of the work, or throws a
    /// `busy` problem if too much work waits.
    func run<Value: Sendable>(
        for user: Int64,
        _ work: @escaping @Sendable (any StoreReader) async throws -> Value
    ) async throws -> Value {
        try await self.pool.run(for: user) { [readers] worker in try await work(readers[worker]) }
    }
}
