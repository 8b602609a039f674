internal import Glibc
internal import PushAPI
internal import Reactor
internal import Synchronization

/// A few threads that run slow work of users, so that no event loop waits for the work. The users
/// are served in turn.
///
/// A thread ends when no work waits. All threads have a lower priority than the event loops, so
/// that fetches go first.
final class FairPool: Sendable {
    private struct Waiter: Sendable {
        let turn: CheckedContinuation<Int, any Error>
        let lateAt: ContinuousClock.Instant
    }

    private let workers: [PoolWorker]
    private let queue: Mutex<FairQueue<Waiter>>
    /// How long work may wait before it is refused. A client would hardly wait longer. The refusal
    /// asks the client to retry.
    private let timeout: Duration
    private let refusal: Problem

    /// `run` throws `refusal` if the work has waited for `timeout`, or if the queue is full.
    init(workers: Int, timeout: Duration, refusal: Problem) {
        precondition(workers > 0, "a pool needs a worker")
        self.workers = (0..<workers).map { _ in PoolWorker() }
        self.queue = Mutex(FairQueue(workers: workers))
        self.timeout = timeout
        self.refusal = refusal
    }

    /// Runs slow work of a user off the event loop. The work gets the number of the worker that
    /// runs it; this worker does nothing else meanwhile. Rethrows the errors of the work, or
    /// throws the refusal.
    func run<Value: Sendable>(
        for user: Int64,
        _ work: @escaping @Sendable (_ worker: Int) async throws -> Value
    ) async throws -> Value {
        let number = try await self.worker(for: user)
        defer { self.release(number) }
        return try await withTaskExecutorPreference(self.workers[number]) { try await work(number) }
    }

    // MARK: - Private

    private func worker(for user: Int64) async throws -> Int {
        try await withCheckedThrowingContinuation { (turn: CheckedContinuation<Int, any Error>) in
            let waiter = Waiter(turn: turn, lateAt: .now + self.timeout)
            switch self.queue.withLock({ $0.add(waiter, of: user) }) {
            case .starts(let worker): turn.resume(returning: worker)
            case .waits: break
            case .full: turn.resume(throwing: self.refusal)
            }
        }
    }

    /// Gives the worker to the next waiter whose timeout has not passed, and refuses all earlier
    /// waiters.
    private func release(_ worker: Int) {
        while let next = self.queue.withLock({ $0.next(for: worker) }) {
            guard next.lateAt <= .now else { return next.turn.resume(returning: worker) }
            next.turn.resume(throwing: self.refusal)
        }
    }
}

/// A thread that runs the jobs of one asynchronous piece of work, one after the other. It ends
/// when no job is left.
private final class PoolWorker: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isRunning = false
    }

    /// The nice value of the threads, `setpriority(2)`.
    private static let niceness: Int32 = 10

    private let state = Mutex(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustStart = self.state.withLock { state in
            defer { state.isRunning = true }
            state.jobs.append(job)
            return !state.isRunning
        }
        if mustStart { detachThread { self.work() } }
    }

    private func work() {
        // On Linux, this call changes the priority of the calling thread only. If the system
        // refuses the change, the thread keeps its priority, which does no harm.
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
