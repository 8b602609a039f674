internal import CEpoll
internal import Glibc
internal import Synchronization

/// One thread that waits in epoll and runs its tasks, timers and watches.
///
/// A task started with `executorPreference: loop` runs entirely on this thread, so state that only
/// such tasks use needs no lock. A task that blocks stops every connection of the loop.
///
/// `@unchecked Sendable`: everything under "Confined to the thread" is used on the loop's thread
/// only, which `assertOnLoop` checks in debug builds; other threads use `inbox` only.
package final class EventLoop: TaskExecutor, @unchecked Sendable {
    /// The maximum number of jobs that one call of `runReadyJobs` runs, so that sockets and timers
    /// get their turn.
    private static let jobsPerTurn = 128
    /// How long tasks that have called `yield` may run between two waits for events.
    private static let yieldedShare = Duration.microseconds(500)

    /// The loop's position in its group, counted from 0. It is an index into arrays with one
    /// element for each loop.
    package let index: Int
    /// The name of the thread.
    package let name: String

    private let turns = LongestTurn()
    private let inbox: LoopInbox
    private let epoll: Int32
    private let thread = Mutex<pthread_t?>(nil)
    /// The identifier of the loop's thread; 0 until the thread has begun.
    private let threadID = Atomic<pthread_t>(0)

    // MARK: Confined to the thread

    // `@exclusivity(unchecked)` saves a check of 65 instructions at each access; a request makes
    // thirty. It is safe here and in the other classes of an event loop: only the loop's thread
    // uses these properties, and no function of another object runs during an access.

    private var isStopping = false
    /// The number of the running job or handler. A task that was suspended continues in a new job,
    /// so it finds a new number.
    @exclusivity(unchecked) package private(set) var jobNumber: UInt64 = 1
    @exclusivity(unchecked) private var ready = JobQueue<UnownedJob>()
    /// The tasks that have yielded. The loop resumes each of them once, also when the loop ends.
    @exclusivity(unchecked) private var yielded = JobQueue<Waiter>()
    @exclusivity(unchecked) private var turnStart = ContinuousClock.now
    @exclusivity(unchecked) private var watches = WatchTable()
    @exclusivity(unchecked) private var timers = TimerQueue()
    /// A handler may answer requests, so a turn handles no more events than jobs.
    private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: jobsPerTurn)

    /// Starts the thread.
    ///
    /// Throws `SystemError` if the kernel refuses a descriptor or a thread.
    package init(index: Int, name: String? = nil) throws(SystemError) {
        self.index = index
        self.name = name ?? "loop \(index)"
        self.events.initialize(repeating: epoll_event())
        self.epoll = try SystemError.check("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
        self.inbox = try LoopInbox()
        var interest = epoll_event(events: EPOLLIN.rawValue, data: epoll_data(u64: WatchTable.wakeUpToken))
        _ = try SystemError.check("epoll_ctl") { epoll_ctl(self.epoll, EPOLL_CTL_ADD, self.inbox.wakeUp, &interest) }
        try self.startThread()
    }

    deinit {
        close(self.epoll)
        self.events.deallocate()
    }

    /// Ends the thread after the ready jobs have run, and waits for the thread's end.
    ///
    /// A task that still prefers this loop continues in the global pool, so no task stays
    /// suspended for ever. Must not be called on the loop.
    package func stop() {
        precondition(!self.isCurrent, "a loop cannot wait for its own end")
        guard let thread = self.thread.withLock({ $0.take() }) else { return }
        self.execute { self.isStopping = true }
        pthread_join(thread, nil)
    }

    /// Lets all other ready work run first: sockets, timers, calls and tasks that have not
    /// yielded.
    ///
    /// Use it in a task that could run for long. After `Task.yield()`, in contrast, a task waits
    /// only for the tasks that are already ready. Call it on the loop only.
    package func yield() async {
        _ = await withUnsafeContinuation { self.afterOthers(resume: .task($0)) }
    }

    /// Resumes the waiter after other ready work, as `yield` does, but without an async function.
    package func afterOthers(resume waiter: Waiter) {
        // A task that has outlived the loop runs in the global pool, and need not wait for other
        // work of the loop.
        guard self.isCurrent else { return waiter.resume(returning: nil) }
        self.yielded.append(waiter)
    }

    // MARK: Executor

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if self.isCurrent {
            self.ready.append(job)
            return
        }
        if !self.inbox.add(job) { globalConcurrentExecutor.enqueue(job) }
    }

    /// Runs a short synchronous call on the loop, from any thread; returns `false` if the loop has
    /// ended, so that the call will never run.
    @discardableResult
    package func execute(_ call: @escaping @Sendable () -> Void) -> Bool {
        self.inbox.add(call)
    }

    /// Whether the caller is on the loop's thread.
    package var isCurrent: Bool {
        self.threadID.load(ordering: .relaxed) == pthread_self()
    }

    /// The start of the current turn (the work until the next wait for events): exact enough for
    /// deadlines. The property is computed, because other modules would ignore the attribute
    /// `@exclusivity` of a stored one. Read it on the loop only.
    package var now: ContinuousClock.Instant { self.turnStart }

    package func assertOnLoop() {
        assert(self.isCurrent || self.inbox.isStopped, "only on the loop's own thread")
    }

    /// The longest turn (the loop's work between two waits for events) of the last one to two
    /// minutes: the time that a client of the loop has had to wait. Any thread may read it.
    package var longestTurn: Duration { self.turns.value(now: .now) }

    // MARK: Watches and timers

    /// Reports the readiness of a descriptor to `handler` until `forget` is called.
    ///
    /// Call it on the loop only. Edge-triggered watches report changes, level-triggered ones a
    /// state.
    package func watch(
        _ descriptor: Int32,
        for interest: Readiness,
        trigger: Trigger,
        handler: any ReadinessHandler
    ) throws(SystemError) -> WatchToken {
        self.assertOnLoop()
        let token = self.watches.insert(handler)
        var event = epoll_event(events: interest.mask(trigger), data: epoll_data(u64: token.rawValue))
        guard epoll_ctl(self.epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
            let error = SystemError(call: "epoll_ctl", code: errno)
            self.watches.remove(token)
            throw error
        }
        return token
    }

    /// Changes what a watch reports. Call it on the loop only.
    package func change(_ token: WatchToken, of descriptor: Int32, to interest: Readiness, trigger: Trigger) {
        self.assertOnLoop()
        var event = epoll_event(events: interest.mask(trigger), data: epoll_data(u64: token.rawValue))
        _ = epoll_ctl(self.epoll, EPOLL_CTL_MOD, descriptor, &event)
    }

    /// Ends a watch; events already fetched for it are dropped. Call it on the loop only, before
    /// the descriptor is closed.
    package func forget(_ token: WatchToken, of descriptor: Int32) {
        self.assertOnLoop()
        self.watches.remove(token)
        _ = epoll_ctl(self.epoll, EPOLL_CTL_DEL, descriptor, nil)
    }

    func insert(_ timer: LoopTimer, at deadline: ContinuousClock.Instant) {
        self.assertOnLoop()
        self.timers.insert(timer, at: deadline)
    }

    /// Records that a timer that still has an entry in the queue will never be armed again.
    func abandonTimer() {
        // The copy keeps the dropped entries until the call has ended. Their release may abandon
        // other timers, which must not happen while `self.timers` changes.
        let timers = self.timers
        self.timers.abandonOne()
        withExtendedLifetime(timers) {}
    }

    /// The number of timer entries, for tests.
    package var timerEntries: Int { self.timers.count }

    // MARK: - The thread

    private func startThread() throws(SystemError) {
        // The thread owns one reference until it ends: a loop that is not stopped lives as long as
        // the process.
        let context = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            context.toOpaque()
        )
        guard code == 0 else {
            context.release()
            throw SystemError(call: "pthread_create", code: code)
        }
        self.thread.withLock { $0 = thread }
    }

    private func run() {
        self.threadID.store(pthread_self(), ordering: .relaxed)
        pthread_setname_np(pthread_self(), self.name)
        // The time until the thread began does not count as a turn.
        self.turnStart = .now
        repeat {
            let yielded = self.yielded.count
            // `add` wakes the loop, so only then is the lock of the inbox worth its time.
            if self.waitForEvents() {
                for call in self.inbox.take(into: &self.ready) { call() }
            }
            self.runReadyJobs()
            self.resumeYielded(yielded)
            self.fireTimers()
        } while !self.isStopping || !self.ready.isEmpty
        // Jobs that arrived after the last `take` go to the global pool, as all later jobs do.
        let late = self.inbox.stop()
        for call in late.calls { call() }
        while let waiter = self.yielded.popFirst() { waiter.resume(returning: nil) }
        // These calls and the resumed waiters may have made further tasks ready.
        self.ready.append(contentsOf: late.jobs)
        while let job = self.ready.popFirst() { globalConcurrentExecutor.enqueue(job) }
        // Timers and watches hold references to objects that refer to the loop. The old timers are
        // released after the property has its new value: the `deinit` of an object may cancel
        // other timers.
        let timers = self.timers
        self.timers = TimerQueue()
        withExtendedLifetime(timers) {}
        self.watches = WatchTable()
        // The identifier is cleared, because a later thread of the process may get the same one.
        self.threadID.store(0, ordering: .relaxed)
    }

    /// Runs the jobs that are ready now, up to the limit for one turn; jobs that these jobs add
    /// wait for the next turn, so that sockets are not kept waiting.
    private func runReadyJobs() {
        for _ in 0..<min(self.ready.count, Self.jobsPerTurn) {
            guard let job = self.ready.popFirst() else { return }
            self.jobNumber &+= 1
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    /// Resumes some of the `count` tasks that yielded before this turn: at least one, and more
    /// until `yieldedShare` has passed.
    private func resumeYielded(_ count: Int) {
        guard count > 0 else { return }
        let end = ContinuousClock.now + Self.yieldedShare
        for _ in 0..<count {
            // The waiter may work for a connection, as a job does.
            self.jobNumber &+= 1
            self.yielded.popFirst()?.resume(returning: nil)
            self.runReadyJobs()
            if .now >= end { return }
        }
    }

    private func fireTimers() {
        // Timers fire one at a time, because an action may arm timers and needs access to the
        // queue.
        while let fire = self.timers.takeDue(now: self.turnStart) { fire() }
    }

    /// Handles the events of descriptors. Returns whether the inbox has woken the loop.
    private func waitForEvents() -> Bool {
        let isBusy = !self.ready.isEmpty || !self.yielded.isEmpty
        let end = ContinuousClock.now
        self.turns.record(from: self.turnStart, to: end)
        let timeout = isBusy ? 0 : self.timers.millisecondsToNext(now: end)
        let count = epoll_wait(self.epoll, self.events.baseAddress, Int32(self.events.count), timeout)
        self.turnStart = .now
        guard count > 0 else { return false }
        var isWoken = false
        for event in self.events[..<Int(count)] {
            let token = event.data.u64
            if token == WatchTable.wakeUpToken {
                self.inbox.recordWake()
                isWoken = true
            } else {
                // The handler may work for a connection, as a job does.
                self.jobNumber &+= 1
                self.watches.handler(token)?.handle(Readiness(mask: event.events))
            }
        }
        return isWoken
    }
}
