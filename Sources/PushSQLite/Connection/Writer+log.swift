internal import PushStore
internal import SQLite
internal import Synchronization

/// Checkpoints the write-ahead log between commits: copies its pages into the database.
extension Writer {
    static let pageSize = 4096
    /// The number of pages in the log after which it is checkpointed and restarted. With a higher
    /// number, readers would have to search a long log. With a lower one, checkpoints would come
    /// too often.
    static let usualLog = 4096
    /// If a reader has prevented a checkpoint, the next attempt comes after this number of further
    /// pages.
    private static let furtherPages = 1024
    /// The number of pages in the log, four times the usual one, after which a log line warns the
    /// operator.
    static let longLog = 16_384

    func checkpointIfDue() {
        let pages = self.log.pages
        guard self.state.withLock({ $0.failure == nil && $0.checkpointsAt <= pages }) else { return }
        do {
            let isDone = try self.onConnection { db in
                // If the log were not restarted here, it would grow until there is a moment
                // without any reader.
                try self.checkpoint(db) != nil && self.resetLog(.restart, db)
            }
            self.state.withLock { state in
                state.checkpointsAt = isDone ? Self.usualLog : pages + Self.furtherPages
                state.checkpointFailure = nil
            }
            if isDone { return self.log.reset() }
        } catch {
            self.recordCheckpointFailure(error, at: pages)
        }
        self.warnOfLength(pages)
    }

    private func recordCheckpointFailure(_ error: any Error, at pages: Int) {
        self.stopIfBroken(error)
        let reason = (error as? DatabaseError)?.message ?? "\(error)"
        let isNew = self.state.withLock { state in
            state.checkpointsAt = pages + Self.furtherPages
            state.checkpointFailures += 1
            defer { state.checkpointFailure = reason }
            return state.checkpointFailure != reason
        }
        if isNew { self.events(.checkpointFailed(reason: reason)) }
    }

    /// Warns whenever the length of the log has doubled.
    private func warnOfLength(_ pages: Int) {
        let isLong = self.state.withLock { state in
            guard pages >= state.warnsOfLogAt else { return false }
            state.warnsOfLogAt = pages * 2
            return true
        }
        if isLong { self.events(.logIsLong(bytes: pages * Self.pageSize)) }
    }

    /// Checkpoints as much of the log as readers allow. Returns the number of pages in the log, or
    /// `nil` if some of them are not checkpointed yet.
    func checkpoint(_ db: Database) throws -> Int? {
        // The checkpoint does not wait for a running report, such as a list of failed pushes. The
        // next checkpoint copies the pages that the report still reads from the log.
        for reader in self.state.withLock({ $0.readers }) where reader.hold() { reader.release() }
        let log = try db.checkpoint(.passive)
        guard log.walFrameCount == log.checkpointedFrameCount else { return nil }
        // The numbers of the pages to wipe are in the log. They are recorded before the next
        // commit, which may overwrite the log.
        if try !self.wiper.recordCheckpoint() { self.sweepLater() }
        return log.walFrameCount
    }

    /// Restarts or truncates the log, after it was checkpointed completely. Returns `false` if a
    /// reader prevents the reset.
    func resetLog(_ mode: Database.CheckpointMode, _ db: Database) throws -> Bool {
        // Since the checkpoint there was no commit, so the reset has nothing to copy, and is
        // short. The reader that makes reports was opened last, so it is the first that must stop.
        // If a report is running, this function returns before any other reader has to wait.
        var held: [SQLiteReader] = []
        defer { for reader in held { reader.release() } }
        for reader in self.state.withLock({ $0.readers }).reversed() {
            guard reader.hold() else { return false }
            held.append(reader)
        }
        // The reset does not wait for readers in other processes, either.
        try db.execute(sql: "pragma busy_timeout = 0")
        defer { try? db.execute(sql: "pragma busy_timeout = \(SQLiteStore.busyTimeout * 1000)") }
        do {
            _ = try db.checkpoint(mode)
            return true
        } catch let error as DatabaseError where error.resultCode == .busy {
            return false
        }
    }
}
