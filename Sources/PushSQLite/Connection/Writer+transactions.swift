internal import PushStore
internal import SQLite
internal import Synchronization

/// Runs transactions that contain the jobs of many callers. A failing job must not make the other
/// jobs fail.
extension Writer {
    /// Runs the jobs in one transaction, and reports the outcome of each job once the transaction
    /// is on the disk.
    ///
    /// The first attempt has no savepoints, which would cost as much as the work itself. If a job
    /// throws, the transaction is rolled back, and runs again with a savepoint for each job. If an
    /// error ends even this whole transaction, each job gets a transaction of its own.
    func commit(_ jobs: [Job]) {
        if self.end(jobs, apart: false) { return }
        self.state.withLock { $0.repeated += 1 }
        if self.end(jobs, apart: true) { return }
        for job in jobs { _ = self.end([job], apart: false) }
    }

    /// Stops the writer if the database's file, its log, the log's index or its lock file was
    /// removed or replaced. Without posts, only this check notices it.
    func checkFiles() {
        guard self.failure == nil else { return }
        do {
            try self.requireFiles()
        } catch {
            // If the writer was closed meanwhile, SQLite itself has removed the log.
            if self.failure == nil { self.stopIfBroken(error) }
        }
    }

    private func requireFiles() throws(StoreError) {
        try self.wiper.requireFile()
        try self.lock.requireFile()
        // SQLite never replaces these files while a connection is open: checkpoints keep them.
        for (path, numbers) in self.logFiles where fileNumbers(at: path) != numbers {
            // Only this connection can still read a removed log. If the checkpoint fails, or a
            // report prevents it, the error is the same: the next start lacks what the log had.
            // Without its index, the log itself is intact, and may have other programs' commits.
            if path == self.wiper.logPath { _ = try? self.onConnection(self.checkpoint) }
            throw .removed(path)
        }
    }

    /// Stops the writer if the disk has failed; records a full disk and a damaged file.
    ///
    /// After a failed fsync, the kernel may have dropped the changed pages, and the next fsync
    /// then reports success. So this connection must not acknowledge a commit or checkpoint any
    /// more.
    func stopIfBroken(_ error: any Error) {
        let reason: String
        var needsOperator = false
        switch error {
        case let error as DatabaseError where error.isFull: return self.recordFull()
        case let error as DatabaseError where error.resultCode == .ioError: reason = error.message ?? "I/O error"
        case StoreError.broken(let text): reason = text
        case StoreError.unusable(_, let text): (reason, needsOperator) = (text, true)
        case let error as DatabaseError where !error.isLock: return self.condition.record(StoreError(error))
        default: return
        }
        self.state.withLock { $0.failure = reason }
        self.events(.broken(reason: reason, needsOperator: needsOperator))
    }

    /// Runs the jobs in one transaction. Returns `false` if the transaction has failed, but the
    /// jobs may succeed one by one. If they cannot, fails each of them with the reason.
    private func end(_ jobs: [Job], apart: Bool) -> Bool {
        do {
            try self.attempt(jobs, apart: apart)
        } catch {
            self.stopIfBroken(error)
            // Only another program can hold the lock for so long.
            if let error = error as? DatabaseError, error.isLock { self.recordLocked(error) }
            let failure = self.failure.map { StoreError.broken(reason: $0) }
            if failure == nil, jobs.count > 1, (error as? DatabaseError)?.concernsAll != true { return false }
            for job in jobs { job.fail(failure ?? error) }
        }
        return true
    }

    private func attempt(_ jobs: [Job], apart: Bool) throws {
        // If the writer was closed meanwhile, these jobs must fail.
        if let failure { throw StoreError.broken(reason: failure) }
        var finishes: [@Sendable () -> Void] = []
        finishes.reserveCapacity(jobs.count)
        var refused: [(Job, any Error)] = []
        defer { self.notes.forget() }
        let commits = self.log.commits
        var isRunUntil = ContinuousClock.now
        try self.onConnection { db in
            try db.inTransaction {
                for job in jobs {
                    if apart {
                        switch try self.runUndoably(job, db) {
                        case .success(let finish): finishes.append(finish)
                        case .failure(let error): refused.append((job, error))
                        }
                    } else {
                        finishes.append(try job.run(db))
                    }
                }
                try self.notes.write(db)
                isRunUntil = .now
            }
        }
        try self.requireFiles()
        if self.log.commits != commits { self.condition.recordCommit(of: finishes.count, after: .now - isRunUntil) }
        for finish in finishes { finish() }
        for (job, error) in refused { job.fail(error) }
    }

    /// Runs a job in a savepoint; if the job throws, only this savepoint is rolled back. Throws
    /// only errors that end the whole transaction.
    private func runUndoably(_ job: Job, _ db: Database) throws -> Result<@Sendable () -> Void, any Error> {
        do {
            let finish = try db.inSavepoint {
                let finish = try job.run(db)
                try self.notes.write(db)
                return finish
            }
            return .success(finish)
        } catch let error as DatabaseError where error.isFatal {
            throw error
        } catch {
            self.notes.forget()
            return .failure(error)
        }
    }
}

extension DatabaseError {
    /// Whether this error has ended the whole transaction, and not only one statement of it.
    var isFatal: Bool { self.concernsAll || self.isDamage }

    /// Whether the disk or the process is the cause, so that any other job would fail, too.
    var concernsAll: Bool {
        switch self.resultCode {
        case .ioError, .full, .outOfMemory, .busy, .lockingProtocol, .interrupt: true
        default: false
        }
    }
}
