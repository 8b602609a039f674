internal import Dispatch
internal import GRDB
internal import Synchronization

/// The one connection that writes. What is waiting is committed together, and answered only after that.
///
/// One `fdatasync` then serves many callers: durability for each at a price that all share.
final class Writer: Sendable {
    private static let bound = 10_000
    /// How many jobs one transaction takes, so that none waits long for the commit of the others.
    private static let batch = 500
    /// Changed rows after which the log is moved into the database.
    private static let checkpointAfter = 5000
    /// Pages in the log, 4 KiB each, after which it must begin anew.
    private static let longLog = 4096

    /// One caller's work. Either what `run` returned is called, after the commit, or `fail`.
    struct Job: Sendable {
        let run: @Sendable (Database) throws -> @Sendable () -> Void
        let fail: @Sendable (StoreError) -> Void
    }

    struct State {
        var waiting: [Job] = []
        var isRunning = false
        var failure: String?
        var rowsAtCheckpoint = 0
        var readers: [Reader] = []
        /// When what was erased is to be wiped from the log and the pages; `nil` if nothing was.
        var wipeDueAt: ContinuousClock.Instant?
        /// When the next of the pages are to be wiped that the last process left unknown; `nil` if there are none.
        var sweepDueAt: ContinuousClock.Instant?
    }

    let connection: DatabaseQueue
    let wiper: PageWiper
    let lock: LockFile
    private let onFailure: @Sendable (String) -> Void
    let space: DiskSpace
    let queue = DispatchQueue(label: "sealpost.writer")
    let commits = CommitCounter()
    let state = Mutex(State())

    init(
        _ connection: DatabaseQueue,
        wiper: PageWiper,
        lock: LockFile,
        space: DiskSpace,
        onFailure: @escaping @Sendable (String) -> Void
    ) {
        self.connection = connection
        self.wiper = wiper
        self.lock = lock
        self.space = space
        self.onFailure = onFailure
    }

    /// Why nothing is written any more.
    var failure: String? { self.state.withLock { $0.failure } }

    /// Runs `body` in a transaction, with others', and returns once that is on the disk.
    ///
    /// What `body` throws undoes its own work only. Throws `StoreError` if the database failed; then nothing of it is
    /// there.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            self.submit(
                Job(
                    run: { db in
                        let result = try db.undoable { try body(db) }
                        return { continuation.resume(with: result) }
                    },
                    fail: { continuation.resume(throwing: $0) }
                )
            )
        }
    }

    /// As `write`, with one kind of error that undoes the work turned into an outcome.
    func write<Outcome: Sendable, Refusal: Error>(
        _ body: @escaping @Sendable (Database) throws -> Outcome,
        catching outcome: (Refusal) -> Outcome
    ) async throws -> Outcome {
        do {
            return try await self.write(body)
        } catch let refusal as Refusal {
            return outcome(refusal)
        }
    }

    /// Runs `body` soon, with others, and tells nobody: for what may be lost with a crash.
    func writeEventually(_ body: @escaping @Sendable (Database) throws -> Void) {
        self.submit(
            Job(
                run: { db in
                    _ = try db.undoable { try body(db) }
                    return {}
                },
                fail: { _ in }
            )
        )
    }

    /// Does what was handed in before, moves the log into the database, and gives the database up; later writes fail.
    func close() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.queue.async {
                self.state.withLock { $0.failure = $0.failure ?? "it is closed" }
                // Failing here costs nothing: the log is read again at the next start.
                let isWiped = (try? self.wipe()) == true
                let isClosed = (try? self.connection.close()) != nil
                if isWiped, isClosed { self.leaveStamp() }
                self.wiper.close()
                // Only now: nobody may open the database while its last connection clears the log away.
                self.lock.release()
                continuation.resume()
            }
        }
    }

    /// Has `reader` let go of what it sees before the log is moved.
    func willHold(_ reader: Reader) {
        self.state.withLock { $0.readers.append(reader) }
    }

    // MARK: - Private

    private func submit(_ job: Job) {
        let (failure, mustStart) = self.state.withLock { state -> (StoreError?, Bool) in
            if let reason = state.failure { return (.broken(reason: reason), false) }
            if state.waiting.count >= Self.bound { return (.busy, false) }
            state.waiting.append(job)
            defer { state.isRunning = true }
            return (nil, !state.isRunning)
        }
        if let failure { job.fail(failure) }
        if mustStart { self.queue.async { self.drain() } }
    }

    private func drain() {
        while true {
            let jobs = self.state.withLock { state -> [Job] in
                let jobs = Array(state.waiting.prefix(Self.batch))
                state.waiting.removeFirst(jobs.count)
                if jobs.isEmpty { state.isRunning = false }
                return jobs
            }
            if jobs.isEmpty { return }
            do throws(StoreError) {
                for finish in try self.commit(jobs) { finish() }
                self.checkpointIfDue()
                self.wipeIfDue()
            } catch {
                for job in jobs { job.fail(error) }
            }
        }
    }

    /// Runs the jobs in one transaction and returns what is to be called now that it is on the disk.
    private func commit(_ jobs: [Job]) throws(StoreError) -> [@Sendable () -> Void] {
        // Handed in while it was being closed.
        if let failure { throw .broken(reason: failure) }
        do {
            let finishes = try self.connection.writeWithoutTransaction { db in
                var finishes: [@Sendable () -> Void] = []
                try db.inTransaction(.immediate) {
                    for job in jobs { finishes.append(try job.run(db)) }
                    return .commit
                }
                return finishes
            }
            // Before anybody is told, so that whoever was told reads what he was told of.
            self.commits.increment()
            return finishes
        } catch let error as DatabaseError {
            self.stopIfBroken(error)
            throw self.failure.map { .broken(reason: $0) } ?? StoreError(error)
        } catch {
            throw .broken(reason: "\(type(of: error))")
        }
    }

    /// After a failed fsync the kernel may have dropped the pages and will call the next one a success: nothing may be
    /// acknowledged, nor moved from the log into the database, on this connection any more.
    func stopIfBroken(_ error: any Error) {
        let reason: String
        switch error {
        case let error as DatabaseError where error.isFull: return self.noteFull()
        case let error as DatabaseError where error.resultCode == .SQLITE_IOERR: reason = error.message ?? "I/O error"
        case StoreError.broken(let text): reason = text
        default: return
        }
        self.state.withLock { $0.failure = reason }
        self.onFailure(reason)
    }

    private func checkpointIfDue() {
        do {
            try self.connection.writeWithoutTransaction { db in
                let changes = db.totalChangesCount
                let isDue = self.state.withLock { $0.rowsAtCheckpoint + Self.checkpointAfter <= changes }
                guard isDue else { return }
                // Readers that have begun while the log was moved would have it grow for as long as there is something to do.
                // One who is in the way just now is not the next time, after the next commit.
                if let frames = try self.moveLog(db), frames > Self.longLog, try !self.empty(.restart, db) { return }
                self.state.withLock { $0.rowsAtCheckpoint = changes }
            }
        } catch {
            // Another failure than the disk's, such as a reader in the way: tried again after the next commit.
            self.stopIfBroken(error)
        }
    }

    /// Moves the log into the database as far as readers allow; the pages in it, if that is all of them.
    func moveLog(_ db: Database) throws -> Int? {
        // A report that runs is not waited for: what it sees is moved the next time.
        for reader in self.state.withLock({ $0.readers }) where reader.hold() { reader.letGo() }
        let log = try db.checkpoint(.passive)
        guard log.walFrameCount == log.checkpointedFrameCount else { return nil }
        // Before the next commit may overwrite the log, which says what there is to wipe.
        try self.wiper.noteMove()
        return log.walFrameCount
    }

    /// Has the log, which was moved whole, begin anew; `false` if a reader is in the way.
    func empty(_ mode: Database.CheckpointMode, _ db: Database) throws -> Bool {
        // Nobody commits meanwhile, so this finds nothing left to move and is short. A report that runs was opened last:
        // asked first, it keeps no one else waiting.
        var held: [Reader] = []
        defer { for reader in held { reader.letGo() } }
        for reader in self.state.withLock({ $0.readers }).reversed() {
            guard reader.hold() else { return false }
            held.append(reader)
        }
        // Readers of other processes are not waited for either.
        try db.execute(sql: "pragma busy_timeout = 0")
        defer { try? db.execute(sql: "pragma busy_timeout = \(Store.busyTimeout * 1000)") }
        do {
            _ = try db.checkpoint(mode)
            return true
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return false
        }
    }
}

extension Database {
    /// Runs work that is undone alone if it throws. Itself throws only what ends the whole transaction.
    fileprivate func undoable<Value>(_ body: () throws -> Value) throws -> Result<Value, any Error> {
        var value: Value?
        do {
            try self.inSavepoint {
                value = try body()
                return .commit
            }
        } catch let error as DatabaseError where error.isFatal {
            throw error
        } catch {
            return .failure(StoreError(reading: error) ?? error)
        }
        guard let value else { preconditionFailure("a savepoint runs its body or throws") }
        return .success(value)
    }
}

extension DatabaseError {
    /// Whether the transaction as a whole is lost, and not just one statement of it.
    fileprivate var isFatal: Bool {
        switch self.resultCode {
        case .SQLITE_IOERR, .SQLITE_FULL, .SQLITE_NOMEM, .SQLITE_CORRUPT, .SQLITE_BUSY, .SQLITE_INTERRUPT: true
        default: false
        }
    }
}
