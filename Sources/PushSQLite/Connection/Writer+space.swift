internal import CSQLite
internal import Glibc
internal import PushStore
internal import SQLite
internal import Synchronization

/// Handles a full disk, and a lock of another program. The writer then stores nothing, but loses
/// nothing that is already stored. It notices by itself when the disk has room again, or when the
/// lock has ended.
extension Writer {
    /// The interval between two checks whether the disk has room.
    private static let checkInterval = Duration.seconds(1)

    /// Runs `body` on the connection. If a quota of the file system is used up, throws the error
    /// of a full disk; SQLite itself reports a used-up quota as a failed write.
    func onConnection<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try self.connection.exclusively { db in
            do {
                return try body(db)
            } catch let error as DatabaseError where error.extendedResultCode == .ioErrorOfWriting {
                // SQLite keeps the last system error for each file: the database and the log. Any
                // error other than that of a quota means that the disk may have failed.
                let codes = [0, 1].map { csqlite_last_errno(db.handle, $0) }
                guard codes.contains(EDQUOT), codes.allSatisfy({ [0, EDQUOT].contains($0) }) else { throw error }
                throw DatabaseError(resultCode: .full, message: "the quota of the file system is used up")
            }
        }
    }

    /// Records that a write failed because the disk is full.
    func recordFull() {
        if self.condition.record(isFull: true) { self.run(after: Self.checkInterval) { $0.checkForSpace() } }
    }

    /// Records that a write failed because another program holds SQLite's lock.
    func recordLocked(_ error: DatabaseError) {
        self.condition.record(StoreError(error))
        let wasLocked = self.state.withLock { state in
            defer { state.isLocked = true }
            return state.isLocked
        }
        if !wasLocked { self.run(after: Self.checkInterval) { $0.checkForLock() } }
    }

    /// Checks whether the lock of another program has ended. The check does not wait for the next
    /// post, since a load balancer may send no post to a server that is not ready.
    private func checkForLock() {
        guard self.failure == nil else { return }
        do {
            try self.onConnection { try $0.inTransaction {} }
            self.state.withLock { $0.isLocked = false }
            self.condition.recordUsable(after: .zero)
        } catch {
            self.stopIfBroken(error)
            if let error = error as? DatabaseError, error.isLock { self.condition.record(StoreError(error)) }
            self.run(after: Self.checkInterval) { $0.checkForLock() }
        }
    }

    /// Frees disk space, and checks whether enough of it is free.
    ///
    /// This method has four steps. It checkpoints the log, which may need room in the database's
    /// file. It truncates the log, which returns the log's room to the file system. It commits a
    /// transaction that changes nothing. Finally, it requests more room than a usual transaction
    /// takes.
    ///
    /// Without the truncation, a log that has filled a small disk would keep it full for ever.
    /// SQLite can use the log's room again, but the file system does not report it as free.
    ///
    /// The transaction shows whether a limit of SQLite is reached. The last step is needed, too:
    /// even on a full disk, a restarted log has room for this small transaction, but not for the
    /// next posts. The check does not wait for the next post, since a load balancer may send no
    /// post to a server that is not ready.
    private func checkForSpace() {
        guard self.failure == nil else { return }
        do {
            try self.onConnection { db in
                // The checkpoint comes before the transaction, which needs room in the log.
                if try self.checkpoint(db) != nil, try self.resetLog(.truncate, db) { self.log.reset() }
                try db.inTransaction {
                    try db.execute(sql: "update change_number set reserved = reserved")
                }
            }
            if Self.hasRoom(beside: self.connection.path) {
                self.condition.record(isFull: false)
                return
            }
        } catch {
            self.stopIfBroken(error)
        }
        self.run(after: Self.checkInterval) { $0.checkForSpace() }
    }

    /// Whether the disk has room for a mebibyte next to this file. A transaction with many posts
    /// may need that much in the log.
    ///
    /// Returns `true` if the file system does not report its free space.
    private static func hasRoom(beside path: String) -> Bool {
        var name = Array("\(path)-room-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { return errno != ENOSPC && errno != EDQUOT }
        unlink(name)
        defer { Glibc.close(descriptor) }
        let code = posix_fallocate(descriptor, 0, 1 << 20)
        return code != ENOSPC && code != EDQUOT
    }
}

extension DatabaseError {
    /// Whether the work failed because the disk is full. Then nothing of it is stored, and it may
    /// be tried again.
    ///
    /// The log has an index, which is a separate file. If this file cannot grow, SQLite reports
    /// another code.
    var isFull: Bool { self.resultCode == .full || self.extendedResultCode == .ioErrorOfSharedMemory }
}
