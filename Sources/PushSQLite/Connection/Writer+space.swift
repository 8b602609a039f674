internal import CSQLite
internal import Dispatch
internal import Glibc
internal import PushStore
internal import SQLite

/// Handles a full disk: the writer stores nothing, loses nothing that is stored, and detects by
/// itself when there is room.
extension Writer {
    /// The time between two checks for room.
    private static let checkInterval = DispatchTimeInterval.seconds(1)

    /// Runs `body` on the connection. If a quota of the file system is used up, which SQLite
    /// reports like any failed write, this throws the error of a full disk.
    func onConnection<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try self.connection.exclusively { db in
            do {
                return try body(db)
            } catch let error as DatabaseError where error.extendedResultCode == .ioErrorOfWriting {
                // Each file has its own last error; an error of another kind means that the disk
                // may have failed.
                let codes = [0, 1].map { csqlite_last_errno(db.handle, $0) }
                guard codes.contains(EDQUOT), codes.allSatisfy({ [0, EDQUOT].contains($0) }) else { throw error }
                throw DatabaseError(resultCode: .full, message: "the quota of the file system is used up")
            }
        }
    }

    /// Records that a write failed because the disk is full.
    func recordFull() {
        if self.condition.record(isFull: true) { self.scheduleSpaceCheck() }
    }

    private func scheduleSpaceCheck() {
        // If the writer is released before, the call does nothing.
        self.queue.asyncAfter(deadline: .now() + Self.checkInterval) { [weak self] in self?.checkForSpace() }
    }

    /// Frees disk space, and checks whether enough is free.
    ///
    /// A checkpoint comes first, which may need room in the database's file. Then the log is
    /// truncated, which returns its room to the file system. Then a transaction that changes
    /// nothing is committed. Finally the check requests more room from the disk than a usual
    /// transaction takes.
    ///
    /// Without the truncation, a log that has filled a small disk would keep it full for ever.
    /// SQLite can reuse the log's room, but the file system does not report it as free.
    ///
    /// The transaction shows whether a limit of SQLite has been reached. The disk is checked too:
    /// a restarted log has room for a small commit even on a full disk. Without that check, the
    /// next posts would fail again. The check does not wait for the next post, since a load
    /// balancer may send none to a server that is not ready.
    private func checkForSpace() {
        guard self.failure == nil else { return }
        do {
            try self.onConnection { db in
                // The checkpoint comes first, since a commit needs room in the log.
                if try self.checkpoint(db) != nil, try self.resetLog(.truncate, db) { self.log.reset() }
                try db.inTransaction(.immediate) {
                    try db.execute(sql: "update change_number set reserved = reserved")
                }
            }
            guard DiskSpace.hasRoom(beside: self.connection.path) else { return self.scheduleSpaceCheck() }
            self.condition.record(isFull: false)
        } catch {
            self.stopIfBroken(error)
            self.scheduleSpaceCheck()
        }
    }
}

extension DatabaseError {
    /// Whether the work failed because the disk is full, so that nothing of the work is stored and
    /// it may be retried.
    ///
    /// The index of a long log is a file, too, and its growth fails with a code of its own.
    var isFull: Bool { self.resultCode == .full || self.extendedResultCode == .ioErrorOfSharedMemory }
}
