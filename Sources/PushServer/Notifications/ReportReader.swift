internal import Dispatch
package import PushStore
internal import Synchronization

/// Runs reads that take longer than an event loop may wait. They run one after the other, on a
/// thread of their own.
///
/// Each read should still be short: while it runs, some stores cannot reclaim the space of deleted
/// data.
package final class ReportReader: Sendable {
    private static let limit = 100

    private let reader: any StoreReader
    private let executor = QueueExecutor()
    private let waiting = Atomic(0)

    /// Only this object may use `reader`.
    package init(_ reader: any StoreReader) {
        self.reader = reader
    }

    /// Runs `body` on the thread. Rethrows the errors of `body`; throws `StoreError.busy` if too
    /// many reads wait.
    package func run<Value: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) async throws -> Value
    ) async throws -> Value {
        guard self.waiting.wrappingAdd(1, ordering: .relaxed).newValue <= Self.limit else {
            self.waiting.wrappingSubtract(1, ordering: .relaxed)
            throw StoreError.busy
        }
        defer { self.waiting.wrappingSubtract(1, ordering: .relaxed) }
        return try await withTaskExecutorPreference(self.executor) { try await body(self.reader) }
    }
}

/// Runs the jobs of tasks one after the other, on one dispatch queue.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "sealpost.reports")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
