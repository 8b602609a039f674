internal import GRDB
internal import PushStore
internal import Synchronization

/// Transactions of many callers, of whom none may spoil it for the others.
extension Writer {
    /// Runs the jobs in one transaction, and tells each of them what became of it once it is on the disk.
    ///
    /// At first nothing is done to undo a single job, which costs as much as the work. If one throws, all of it is undone
    /// and done again with a savepoint for each; if even that ends the transaction, each gets a transaction of its own.
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
        self.events(.broken(reason: reason))
    }

    /// Whether the jobs may fare better one by one. Otherwise each is told why nothing of it is there.
    private func isWorthRepeating(_ error: any Error, _ jobs: [Job]) -> Bool {
        self.stopIfBroken(error)
        let failure = self.failure.map { StoreError.broken(reason: $0) }
        if failure == nil, jobs.count > 1, (error as? DatabaseError)?.concernsAll != true { return true }
        for job in jobs { job.fail(failure ?? error) }
        return false
    }

    private func attempt(_ jobs: [Job], apart: Bool) throws {
        // Handed in while it was being closed.
        if let failure { throw StoreError.broken(reason: failure) }
        var finishes: [@Sendable () -> Void] = []
        finishes.reserveCapacity(jobs.count)
        var refused: [(Job, any Error)] = []
        defer { self.notes.forget() }
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
                return .commit
            }
        }
        // Before anybody is told, so that a caller reads what it was told of.
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
            return .failure(error)
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

    /// Whether it says something about the disk or the process, so that no other job fares better.
    var concernsAll: Bool {
        switch self.resultCode {
        case .SQLITE_IOERR, .SQLITE_FULL, .SQLITE_NOMEM, .SQLITE_BUSY, .SQLITE_INTERRUPT: true
        default: false
        }
    }
}
