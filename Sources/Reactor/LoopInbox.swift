internal import CEpoll
internal import Glibc
internal import Synchronization

/// Jobs and calls that other threads pass to a loop, and the descriptor that wakes it. Any thread
/// may use this value, unless a comment says otherwise.
///
/// `add` returns `false` after `stop`: the loop has ended, and the job or call was not stored.
struct LoopInbox: ~Copyable, Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        var calls: [@Sendable () -> Void] = []
        var wakeIsPending = false
        var isStopped = false
    }

    private let state = Mutex(State())
    /// A descriptor that becomes readable when a job or a call was added.
    let wakeUp: Int32

    init() throws(SystemError) {
        self.wakeUp = try SystemError.check("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) }
    }

    deinit {
        // The descriptor outlives the loop's thread, because another thread may be about to write
        // to it.
        close(self.wakeUp)
    }

    var isStopped: Bool { self.state.withLock { $0.isStopped } }

    func add(_ job: UnownedJob) -> Bool {
        self.change { $0.jobs.append(job) }
    }

    func add(_ call: @escaping @Sendable () -> Void) -> Bool {
        self.change { $0.calls.append(call) }
    }

    /// Moves the jobs to `ready`, and returns the calls. Call it on the loop's thread.
    func take(into ready: inout JobQueue<UnownedJob>) -> [@Sendable () -> Void] {
        var calls: [@Sendable () -> Void] = []
        self.state.withLock { state in
            swap(&calls, &state.calls)
            ready.append(contentsOf: state.jobs)
            state.jobs.removeAll(keepingCapacity: true)
            state.wakeIsPending = false
        }
        return calls
    }

    /// Rejects all further jobs and calls; returns those that arrived after the last `take`.
    func stop() -> (jobs: [UnownedJob], calls: [@Sendable () -> Void]) {
        self.state.withLock { state in
            state.isStopped = true
            return (state.jobs, state.calls)
        }
    }

    /// Makes `wakeUp` unreadable again. Call it on the loop's thread.
    func recordWake() {
        var value: UInt64 = 0
        read(self.wakeUp, &value, MemoryLayout<UInt64>.size)
    }

    private func change(_ change: (inout State) -> Void) -> Bool {
        let (isStopped, mustWake) = self.state.withLock { state in
            if state.isStopped { return (true, false) }
            change(&state)
            defer { state.wakeIsPending = true }
            return (false, !state.wakeIsPending)
        }
        if mustWake {
            var one: UInt64 = 1
            write(self.wakeUp, &one, MemoryLayout<UInt64>.size)
        }
        return !isStopped
    }
}
