internal import Dispatch
internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

/// The one connection that writes. It commits the waiting jobs together, and answers their callers
/// only after the commit.
///
/// One `fdatasync` then makes the work of many callers durable, and they share its cost.
final class Writer: Sendable {
    /// One caller's work. After the commit the writer calls the closure that `run` returned;
    /// otherwise it calls `fail`. It may call `run` again after a rollback.
    struct Job: Sendable {
        let run: @Sendable (Database) throws -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    struct State {
        var waiting = WriterQueue<Job>()
        var isRunning = false
        var failure: String?
        var readers: [SQLiteReader] = []
        /// When erased data is wiped next from the log and the pages; `nil` if nothing was erased.
        var wipeDueAt: ContinuousClock.Instant?
        /// When the next unknown pages are wiped; `nil` if no page is unknown. The last process
        /// may have left erased data in an unknown page.
        var sweepDueAt: ContinuousClock.Instant?
        /// When receipts are written next.
        var receiptsDueAt = ContinuousClock.now
        /// The log's length, in pages, at which it is checkpointed next.
        var checkpointsAt = Writer.usualLog
        /// The log's length, in pages, at which the next warning is due.
        var warnsOfLogAt = Writer.longLog
        /// The reason why the last checkpoint failed; `nil` if it succeeded.
        var checkpointFailure: String?
    }

    let connection: Connection
    let wiper: PageWiper
    let lock: LockFile
    let condition: StoreCondition
    let notes: TransactionNotes
    /// How long a request's work may wait before the writer refuses it.
    private let timeout: Duration
    private let spans: SpanRecorder?
    let events: @Sendable (StoreEvent) -> Void
    let queue = DispatchQueue(label: "sealpost.writer")
    let commits = CommitCounter()
    let counts = StoreCounts()
    let log = LogLength()
    let syncs = SyncTimes()
    let receipts = ReceiptBook()
    let state = Mutex(State())

    init(
        _ connection: Connection,
        wiper: PageWiper,
        lock: LockFile,
        condition: StoreCondition,
        notes: TransactionNotes,
        timeout: Duration,
        spans: SpanRecorder?,
        events: @escaping @Sendable (StoreEvent) -> Void
    ) throws {
        self.connection = connection
        self.wiper = wiper
        self.lock = lock
        self.condition = condition
        self.notes = notes
        self.timeout = timeout
        self.spans = spans
        self.events = events
        try connection.exclusively { db in
            try self.log.watch(db)
            self.syncs.watch(db)
        }
    }

    /// The reason why the writer has stopped; `nil` while the writer runs.
    var failure: String? { self.state.withLock { $0.failure } }

    /// Runs `body` in a transaction, together with other work, and returns once that is on the
    /// disk.
    ///
    /// `body` may run again after a rollback; an error that it throws rolls back its own work
    /// only. `bytes` is the size of its values. Throws `StoreError` if the database failed, or if
    /// the work had to wait for too long; then nothing of it is stored.
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

    /// Finishes the work that was submitted before, checkpoints the log and closes the database;
    /// later writes fail.
    func close() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.queue.async {
                self.drainReceipts()
                self.state.withLock { $0.failure = $0.failure ?? "the database is closed" }
                // A failure does no harm here: the next start reads the log again.
                let isWiped = (try? self.wipe()) == true
                let isClosed = (try? self.connection.close()) != nil
                if isWiped, isClosed { self.leaveStamp() }
                self.wiper.close()
                // The lock is released last: no process may open the database while its last
                // connection removes the log.
                self.lock.release()
                continuation.resume()
            }
        }
    }

    /// Makes `reader` end its transaction before each checkpoint.
    func willHold(_ reader: SQLiteReader) {
        self.state.withLock { $0.readers.append(reader) }
    }

    /// The number of waiting jobs.
    var waitingCount: Int { self.state.withLock { $0.waiting.count } }

    /// Starts work on the waiting jobs and receipts, unless it is running.
    func start() {
        let mustStart = self.state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { self.queue.async { self.drain() } }
    }

    // MARK: - Private

    private func submit(_ job: Job, _ lane: WriterLane, bytes: Int) {
        let (failure, mustStart) = self.state.withLock { state -> (StoreError?, Bool) in
            if let reason = state.failure { return (.broken(reason: reason), false) }
            guard state.waiting.add(job, lane, bytes: bytes, timeout: self.timeout, now: .now) else {
                return (.busy, false)
            }
            defer { state.isRunning = true }
            return (nil, !state.isRunning)
        }
        if let failure { job.fail(failure) }
        if mustStart { self.queue.async { self.drain() } }
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
                // The clients of these jobs have got an error by now, or are about to.
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
