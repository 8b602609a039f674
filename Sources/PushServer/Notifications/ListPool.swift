internal import Foundation
internal import Glibc
internal import PushAPI
package import PushStore
internal import Synchronization

/// The few threads that make long lists, each with a reader of its own, so that no event loop waits for one.
///
/// A thread ends when nothing waits. All run at a lower priority than the event loops, whose fetches go first.
package final class ListPool: Sendable {
    private struct Job: Sendable {
        let run: @Sendable (Reader) -> Void
        let refuse: @Sendable () -> Void
        let lateAt: ContinuousClock.Instant
    }

    /// Added to the priority, `setpriority(2)`.
    private static let niceness: Int32 = 10
    /// After so long a client hardly waits any more; what it is told then tells it to come again.
    private static let patience = Duration.seconds(10)

    private let readers: [Reader]
    private let queue: Mutex<FairQueue<Job>>

    /// A thread for each of the readers, which nobody else uses.
    package init(_ readers: [Reader]) {
        precondition(!readers.isEmpty, "a pool needs a reader")
        self.readers = readers
        self.queue = Mutex(FairQueue(workers: readers.count))
    }

    /// Runs slow work of a user off the event loop. Throws what it throws, or a `busy` problem if too much is waiting.
    func run<Value: Sendable>(
        for user: Int64,
        _ work: @escaping @Sendable (Reader) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            let job = Job(
                run: { reader in continuation.resume(with: Result { try work(reader) }) },
                refuse: { continuation.resume(throwing: Problem(.busy, "the queue of long lists is full")) },
                lateAt: .now + Self.patience
            )
            switch self.queue.withLock({ $0.add(job, of: user) }) {
            case .starts(let worker): Thread.detachNewThread { self.work(worker, beginningWith: job) }
            case .waits: break
            case .full: job.refuse()
            }
        }
    }

    private func work(_ worker: Int, beginningWith first: Job) {
        // Of this thread alone, as Linux has it. There is nothing to do about a refusal: it is as fast as before then.
        _ = setpriority(Int32(PRIO_PROCESS.rawValue), 0, Self.niceness)
        var next: Job? = first
        while let job = next {
            if job.lateAt > .now { job.run(self.readers[worker]) } else { job.refuse() }
            next = self.queue.withLock { $0.next(for: worker) }
        }
    }
}
