internal import Foundation
internal import Glibc
internal import PushAPI
package import PushStore
internal import Synchronization

/// A few threads that build long lists, each with a reader of its own, so that no event loop waits for a list.
///
/// A thread ends when nothing waits. All run at a lower priority than the event loops, whose fetches go first.
package final class ListPool: Sendable {
    private struct Waiter: Sendable {
        let turn: CheckedContinuation<Int, any Error>
        let lateAt: ContinuousClock.Instant
    }

    /// How long a list may wait: a client hardly waits longer, and the refusal tells it to retry.
    private static let patience = Duration.seconds(10)

    private let workers: [ListWorker]
    private let queue: Mutex<FairQueue<Waiter>>

    /// Creates a worker for each of the readers, which nothing else may use.
    package init(_ readers: [any StoreReader]) {
        precondition(!readers.isEmpty, "a pool needs a reader")
        self.workers = readers.map(ListWorker.init)
        self.queue = Mutex(FairQueue(workers: readers.count))
    }

    /// Runs slow work of a user off the event loop. Rethrows its errors, or throws a `busy` problem if too much is
    /// waiting.
    func run<Value: Sendable>(
        for user: Int64,
        _ work: @escaping @Sendable (any StoreReader) async throws -> Value
    ) async throws -> Value {
        let number = try await self.worker(for: user)
        defer { self.release(number) }
        let worker = self.workers[number]
        return try await withTaskExecutorPreference(worker) { try await work(worker.reader) }
    }

    // MARK: - Private

    private func worker(for user: Int64) async throws -> Int {
        try await withCheckedThrowingContinuation { (turn: CheckedContinuation<Int, any Error>) in
            let waiter = Waiter(turn: turn, lateAt: .now + Self.patience)
            switch self.queue.withLock({ $0.add(waiter, of: user) }) {
            case .starts(let worker): turn.resume(returning: worker)
            case .waits: break
            case .full: turn.resume(throwing: Self.refusal)
            }
        }
    }

    /// Gives the worker to the next waiter that is not late, and refuses the late ones.
    private func release(_ worker: Int) {
        while let next = self.queue.withLock({ $0.next(for: worker) }) {
            guard next.lateAt <= .now else { return next.turn.resume(returning: worker) }
            next.turn.resume(throwing: Self.refusal)
        }
    }

    private static var refusal: Problem { Problem(.busy, "the queue of long lists is full") }
}

/// A thread that runs the jobs of one list one after the other, and ends when there are none.
private final class ListWorker: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isRunning = false
    }

    /// Added to the priority, `setpriority(2)`.
    private static let niceness: Int32 = 10

    let reader: any StoreReader
    private let state = Mutex(State())

    init(reader: any StoreReader) {
        self.reader = reader
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustStart = self.state.withLock { state in
            defer { state.isRunning = true }
            state.jobs.append(job)
            return !state.isRunning
        }
        if mustStart { Thread.detachNewThread { self.work() } }
    }

    private func work() {
        // On Linux this changes the priority of this thread alone. A refusal is ignored: the thread then keeps its
        // priority.
        _ = setpriority(Int32(PRIO_PROCESS.rawValue), 0, Self.niceness)
        while let job = self.next() { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    private func next() -> UnownedJob? {
        self.state.withLock { state in
            state.isRunning = !state.jobs.isEmpty
            return state.isRunning ? state.jobs.removeFirst() : nil
        }
    }
}
