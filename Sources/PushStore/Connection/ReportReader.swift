internal import Dispatch
internal import Synchronization

/// Reads that take longer than an event loop may wait, on a thread of their own, one after the other.
///
/// Each should be short all the same: while it runs, the log cannot be moved into the database.
package final class ReportReader: Sendable {
    private static let bound = 100

    private let reader: Reader
    private let queue = DispatchQueue(label: "sealpost.reports")
    private let waiting = Atomic(0)

    package init(_ reader: Reader) {
        self.reader = reader
    }

    /// Runs `body` there. Throws what it throws, or `StoreError.busy` if too many wait.
    package func run<Value: Sendable>(_ body: @escaping @Sendable (Reader) throws -> Value) async throws -> Value {
        guard self.waiting.wrappingAdd(1, ordering: .relaxed).newValue <= Self.bound else {
            self.waiting.wrappingSubtract(1, ordering: .relaxed)
            throw StoreError.busy
        }
        defer { self.waiting.wrappingSubtract(1, ordering: .relaxed) }
        return try await withCheckedThrowingContinuation { continuation in
            self.queue.async { continuation.resume(with: Result { try body(self.reader) }) }
        }
    }
}
