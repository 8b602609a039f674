internal import PushStore
internal import SQLite
internal import Synchronization

/// Transactions with the jobs of many callers. No job may make the others fail.
extension Writer {
    /// Runs the jobs in one transaction, and reports each job's outcome once it is on the disk.
    ///
    /// The first attempt has no savepoints, which cost as much as the work. If a job throws, the
    /// transaction is rolled back and repeated with a savepoint for each job; if even that ends
    /// the transaction, each job gets a transaction of its own.
    func commit(_ jobs: [Job]) {
        do {
            return try self.attempt(jobs, apart: false)
        } catch {
            guard self.isWorthRepeating(error, jobs) else { return }
        }
        self.counts.repeated.wrappingAdd(1, ordering: .relaxed)
        do {
            return try self.attempt(jobs, apart: true)
        } catch {
            guard self.isWorthRepeating(error, jobs) else { return }
        }
        for job in jobs {
            do {
                try self.attempt([job], apart: false)
            } catch {
                _ = self.isWorthRepeating(error, [job])
            }
        }
    }

    /// Stops the writer if the disk failed; records a full disk.
    ///
    /// After a failed fsync the kernel may have dropped the pages and will report success for the
    /// next one: this connection must not acknowledge or checkpoint anything any more.
    func stopIfBroken(_ error: any Error) {
        let reason: String
        switch error {
        case let error as DatabaseError where error.isFull: return self.recordFull()
        case let error as DatabaseError where error.resultCode == .ioError: reason = error.message ?? "I/O error"
        case StoreError.broken(let text): reason = text
        default: return
        }
        self.state.withLock { $0.failure = reason }
        self.events(.broken(reason: reason))
    }

    /// Whether the jobs may succeed one by one. If not, each of them fails with the reason.
    private func isWorthRepeating(_ error: any Error, _ jobs: [Job]) -> Bool {
        self.stopIfBroken(error)
        let failure = self.failure.map { StoreError.broken(reason: $0) }
        if failure == nil, jobs.count > 1, (error as? DatabaseError)?.concernsAll != true { return true }
        for job in jobs { job.fail(failure ?? error) }
        return false
    }

    private func attempt(_ jobs: [Job], apart: Bool) throws {
        // These jobs were submitted while the writer was being closed.
        if let failure { throw StoreError.broken(reason: failure) }
        var finishes: [@Sendable () -> Void] = []
        finishes.reserveCapacity(jobs.count)
        var refused: [(Job, any Error)] = []
        defer { self.notes.forget() }
        let commits = self.log.commits
        var isRunUntil = ContinuousClock.now
        try self.onConnection { db in
            try db.inTransaction(.immediate) {
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
        if self.log.commits != commits { self.condition.recordCommit(of: finishes.count, after: .now - isRunUntil) }
        // The count rises before the callers continue, so that each reads its own write.
        self.commits.increment()
        for finish in finishes { finish() }
        for (job, error) in refused { job.fail(error) }
    }
}

extension Writer {
    private func runUndoably(_ job: Job, _ db: Database) throws -> Result<@Sendable () -> Void, any Error> {
        let result = try db.undoable {
            let finish = try job.run(db)
            try self.notes.write(db)
            return finish
        }
        if case .failure = result { self.notes.forget() }
        return result
    }
}

extension Database {
    /// Runs work in a savepoint, which is rolled back alone if the work throws. Throws only errors
    /// that end the whole transaction.
    fileprivate func undoable<Value>(_ body: () throws -> Value) throws -> Result<Value, any Error> {
        do {
            return .success(try self.inSavepoint(body))
        } catch let error as DatabaseError where error.isFatal {
            throw error
        } catch {
            return .failure(error)
        }
    }
}

extension DatabaseError {
    /// Whether the whole transaction is lost, and not only one statement of it.
    fileprivate var isFatal: Bool {
        switch self.resultCode {
        case .ioError, .full, .outOfMemory, .corrupt, .busy, .interrupt: true
        default: false
        }
    }

    /// Whether the disk or the process is the cause, so that no other job would succeed.
    var concernsAll: Bool {
        switch self.resultCode {
        case .ioError, .full, .outOfMemory, .busy, .interrupt: true
        default: false
        }
    }
}
