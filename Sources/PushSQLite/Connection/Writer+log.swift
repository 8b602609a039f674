internal import GRDB
internal import PushStore
internal import Synchronization

/// Moves the log into the database, between commits.
extension Writer {
    static let pageSize = 4096
    /// Pages in the log after which it is moved and begins anew: readers look through all of a longer one, a shorter one is
    /// moved too often.
    static let usualLog = 4096
    /// Pages after which it is tried again while a reader is in the way.
    private static let furtherPages = 1024
    /// Pages, four times the usual, that an operator is told of.
    static let longLog = 16_384

    func moveLogIfDue() {
        let pages = self.log.pages
        guard self.state.withLock({ $0.failure == nil && $0.movesLogAt <= pages }) else { return }
        do {
            let isDone = try self.onConnection { db in
                // Unless it begins anew, it grows beside readers that never rest.
                try self.moveLog(db) != nil && self.empty(.restart, db)
            }
            self.state.withLock { state in
                state.movesLogAt = isDone ? Self.usualLog : pages + Self.furtherPages
                state.checkpointFailure = nil
            }
            if isDone { return self.log.reset() }
        } catch {
            self.noteCheckpointFailure(error, at: pages)
        }
        self.warnOfLength(pages)
    }

    private func noteCheckpointFailure(_ error: any Error, at pages: Int) {
        self.stopIfBroken(error)
        self.counts.checkpointFailures.wrappingAdd(1, ordering: .relaxed)
        let reason = (error as? DatabaseError)?.message ?? "\(error)"
        let isNew = self.state.withLock { state in
            state.movesLogAt = pages + Self.furtherPages
            defer { state.checkpointFailure = reason }
            return state.checkpointFailure != reason
        }
        if isNew { self.events(.checkpointFailed(reason: reason)) }
    }

    /// Said at each doubling, of which every one is met, since it is looked at every some pages.
    private func warnOfLength(_ pages: Int) {
        let isLong = self.state.withLock { state in
            guard pages >= state.warnsOfLogAt else { return false }
            state.warnsOfLogAt = pages * 2
            return true
        }
        if isLong { self.events(.logIsLong(bytes: pages * Self.pageSize)) }
    }

    /// Moves the log into the database as far as readers allow; the pages in it, if that is all of them.
    func moveLog(_ db: Database) throws -> Int? {
        // A report that runs is not waited for: what it sees is moved the next time.
        for reader in self.state.withLock({ $0.readers }) where reader.hold() { reader.letGo() }
        let log = try db.checkpoint(.passive)
        guard log.walFrameCount == log.checkpointedFrameCount else { return nil }
        // Before the next commit may overwrite the log, which says what there is to wipe.
        if try !self.wiper.noteMove() { self.sweepLater() }
        return log.walFrameCount
    }

    /// Has the log, which was moved whole, begin anew; `false` if a reader is in the way.
    func empty(_ mode: Database.CheckpointMode, _ db: Database) throws -> Bool {
        // Nobody commits meanwhile, so this finds nothing left to move and is short. A report that runs was opened last:
        // asked first, it keeps no one else waiting.
        var held: [SQLiteReader] = []
        defer { for reader in held { reader.letGo() } }
        for reader in self.state.withLock({ $0.readers }).reversed() {
            guard reader.hold() else { return false }
            held.append(reader)
        }
        // Readers of other processes are not waited for either.
        try db.execute(sql: "pragma busy_timeout = 0")
        defer { try? db.execute(sql: "pragma busy_timeout = \(SQLiteStore.busyTimeout * 1000)") }
        do {
            _ = try db.checkpoint(mode)
            return true
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return false
        }
    }
}
