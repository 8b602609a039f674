internal import Glibc
internal import PushAPI
internal import Reactor
internal import Synchronization

/// A few threads that hash passwords, so that sign-ins never use all cores, and need memory only
/// for as many hashes as there are threads.
///
/// A thread ends when no work waits. All threads have a lower priority than the event loops, so
/// that fetches go first.
final class HashingPool: Sendable {
    struct Job: Sendable {
        let run: @Sendable () -> Void
        let refuse: @Sendable () -> Void
    }

    /// The nice value for `setpriority(2)`. If an event loop needs the same core, the thread gets
    /// a tenth of the loop's time.
    private static let niceness: Int32 = 10

    private let queue: Mutex<HashingQueue<Job>>

    init(workers: Int) {
        self.queue = Mutex(HashingQueue(workers: workers))
    }

    /// Runs slow work off the event loop. Throws a `busy` problem if too much work waits already.
    func run<Value: Sendable>(
        for requester: HashingRequester,
        _ work: @escaping @Sendable () -> Value
    ) async throws -> Value {
        let value = await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
            let job = Job(
                run: { continuation.resume(returning: work()) },
                refuse: { continuation.resume(returning: nil) }
            )
            switch self.queue.withLock({ $0.add(job, requester) }) {
            case .starts: detachThread { self.work(beginningWith: job) }
            case .waits(let loser): loser?.refuse()
            case .full: job.refuse()
            }
        }
        guard let value else { throw Problem(.busy, "the queue of sign-ins is full") }
        return value
    }

    private func work(beginningWith first: Job) {
        // On Linux, this call changes the priority of the calling thread only. If the system
        // refuses the change, the thread keeps its priority, which does no harm.
        _ = setpriority(Int32(PRIO_PROCESS.rawValue), 0, Self.niceness)
        var next: Job? = first
        while let job = next {
            job.run()
            next = self.queue.withLock { $0.next() }
        }
    }
}
