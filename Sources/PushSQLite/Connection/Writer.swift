internal import Dispatch
internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

/// The only connection that writes. It commits all waiting jobs together, and answers their
/// callers only after the commit.
///
/// So a single `fdatasync` makes the work of many callers durable.
final class Writer: Sendable {
    /// The work of one caller. After the commit, the writer calls the closure that `run` has
    /// returned; if the job fails, it calls `fail`. After a rollback, it may call `run` again.
    struct Job: Sendable {
        let run: @Sendable (Database) throws -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    struct State {
        var waiting = WriterQueue<Job>()
        var isRunning = false
        var failure: String?
        /// Whether another program holds SQLite's lock for writes.
        var isLocked = false
        var readers: [SQLiteReader] = []
        /// The time of the next wipe of the log and the pages; `nil` if there is no erased data.
        var wipeDueAt: ContinuousClock.Instant?
        /// The time at which the next unknown pages are wiped; `nil` if no page is unknown. A page
        /// is unknown if the last process may have left erased data in it.
        var sweepDueAt: ContinuousClock.Instant?
        /// The time at which receipts are written next.
        var receiptsDueAt = ContinuousClock.now
        /// The number of pages in the log after which the next checkpoint comes.
        var checkpointsAt = Writer.usualLog
        /// The number of pages in the log after which the next warning comes.
        var warnsOfLogAt = Writer.longLog
        /// The reason why the last checkpoint has failed; `nil` if it has succeeded.
        var checkpointFailure: String?
        var checkpointFailures = 0
        /// The number of transactions that were rolled back and repeated.
        var repeated = 0
        /// The number of transactions that have erased data, which must then be wiped.
        var erasures = 0
        /// The size of the file; `nil` until the writer has read it.
        var space: FileSpace?
    }

    let connection: Connection
    let wiper: PageWiper
    let lock: LockFile
    let condition: StoreCondition
    let notes: TransactionNotes
    /// The maximum time that a request's work may wait. After that, the writer refuses it.
    private let timeout: Duration
    private let spans: SpanRecorder?
    let events: @Sendable (StoreEvent) -> Void
    let queue = DispatchQueue(label: "sealpost.writer")
    let log = LogLength()
    /// The numbers of the write-ahead log and of its index, which the connection keeps open.
    let logFiles: [(path: String, numbers: [UInt]?)]
    let syncs = SyncTimes()
    let receipts = ReceiptBook()
    let state = Mutex(State())

    init(
        _ connection: Connection,
        wiper: PageWiper,
        lock: LockFile,
        notes: TransactionNotes,
        _ options: StoreOptions
    ) throws {
        (self.connection, self.wiper, self.lock, self.notes) = (connection, wiper, lock, notes)
        (self.timeout, self.spans, self.events) = (options.writeTimeout, options.spans, options.onEvent)
        self.condition = StoreCondition(onEvent: options.onEvent)
        self.logFiles = ["-wal", "-shm"].map { wiper.path + $0 }.map { ($0, fileNumbers(at: $0)) }
        try connection.exclusively { db in
            try self.log.watch(db)
            self.syncs.watch(db)
        }
    }

    /// The reason why the writer has stopped; `nil` while the writer runs.
    var failure: String? { self.state.withLock { $0.failure } }

    /// Runs `body` in a transaction, together with the work of other callers. Returns once the
    /// transaction is on the disk.
    ///
    /// After a rollback, `body` may run again. If it throws, only its own work is rolled back.
    /// `bytes` is the size of the values that it stores. Throws `StoreError` if the database has
    /// failed, or if the work had to wait too long; then nothing of the work is stored.
    func write<Value: Sendable>(
        _ lane: WriterLane = .request,
        bytes: Int = 0,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        let span = self.spans?.beginCommit()
        defer { if let span { self.spans?.endCommit(span, of: "sqlite") } }
        return try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            self.submit(
                Job(
                    run: { db in
                        let value = try body(db)
                        return { continuation.resume(returning: value) }
                    },
                    fail: { continuation.resume(throwing: StoreError(reading: $0) ?? $0) }
                ),
                lane,
                bytes: bytes
            )
        }
    }

    /// Finishes the submitted work, checkpoints the log, and closes the database. Later writes
    /// fail.
    func close() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.queue.async {
                self.drainReceipts()
                self.state.withLock { $0.failure = $0.failure ?? "the database is closed" }
                // If the wipe or the closing fails, this does no harm: the next start reads the
                // log.
                let isWiped = (try? self.wipe()) == true
                let isClosed = (try? self.connection.close()) != nil
                if isWiped, isClosed { self.leaveStamp() }
                self.wiper.close()
                // The lock is released last. Until then no other process can open the database
                // while this connection removes the log.
                self.lock.release()
                continuation.resume()
            }
        }
    }

    /// Makes `reader` end its read transaction before each checkpoint.
    func willHold(_ reader: SQLiteReader) { self.state.withLock { $0.readers.append(reader) } }

    /// The number of jobs that wait for a transaction.
    var waitingCount: Int { self.state.withLock { $0.waiting.count } }

    /// Starts the work on waiting jobs and on receipts (the times of first fetches), unless this
    /// work is already running.
    func start() {
        let mustStart = self.state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { self.queue.async { self.drain() } }
    }

    /// Runs `work` on the writer's queue after a delay, unless the writer is released meanwhile.
    func run(after delay: Duration, _ work: @escaping @Sendable (Writer) -> Void) {
        self.queue.asyncAfter(deadline: .now() + delay.timeInterval) { [weak self] in self.map(work) }
    }

    // MARK: - Private

    private func submit(_ job: Job, _ lane: WriterLane, bytes: Int) {
        let failure = self.state.withLock { state -> StoreError? in
            if let reason = state.failure { return .broken(reason: reason) }
            return state.waiting.add(job, lane, bytes: bytes, timeout: self.timeout, now: .now) ? nil : .busy
        }
        if let failure { job.fail(failure) } else { self.start() }
    }

    private func drain() {
        while true {
            let turn = self.state.withLock { state -> WriterQueue<Job>.Turn? in
                let now = ContinuousClock.now
                let hasReceipts = state.receiptsDueAt <= now && self.receipts.count > 0
                let turn = state.waiting.next(hasReceipts: hasReceipts, now: now)
                if turn == nil { state.isRunning = false }
                return turn
            }
            switch turn {
            case .jobs(let jobs, let late):
                // The late jobs have waited too long: their clients have already got an error, or
                // will soon get one.
                for job in late { job.fail(StoreError.busy) }
                if !jobs.isEmpty { self.commit(jobs) }
            case .receipts: self.writeSomeReceipts()
            case nil: return
            }
            self.checkpointIfDue()
            self.wipeIfDue()
        }
    }
}
