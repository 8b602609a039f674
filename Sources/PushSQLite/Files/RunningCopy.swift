internal import CSQLite
internal import SQLite
internal import Synchronization

/// A copy of a database that is being made. Other threads can end it early, and read its progress.
package final class RunningCopy: Sendable {
    private let isInterrupted = Atomic(false)
    private let pagesRead = Atomic(0)
    /// The connection that is working now. A lock protects it, since another thread may interrupt
    /// it.
    private let connection = Mutex<Connection?>(nil)

    package init() {}

    /// The number of bytes that the connection has read. If no connection is working, the number
    /// that the last connection has read.
    package var bytesRead: Int { self.pagesRead.load(ordering: .relaxed) * Writer.pageSize }

    /// Ends the copy soon: it throws an error, and leaves no file behind.
    package func interrupt() {
        self.isInterrupted.store(true, ordering: .relaxed)
        // SQLite checks a whole database in one step. Only an interruption of the connection ends
        // this step.
        self.connection.withLock { $0?.interrupt() }
    }

    /// Runs `body` with a connection. If the copy is interrupted, the connection's statements
    /// fail. Rethrows the errors of `body`.
    func during<Value>(_ connection: Connection, _ body: (Connection) throws -> Value) throws -> Value {
        self.connection.withLock { $0 = connection }
        defer { self.connection.withLock { $0 = nil } }
        guard !self.isInterrupted.load(ordering: .relaxed) else { throw DatabaseError(resultCode: .interrupt) }
        self.pagesRead.store(0, ordering: .relaxed)
        // The progress handler checks for an interruption while statements run. SQLite itself
        // forgets an interruption between two statements.
        let watch = connection.exclusively { db in
            let watch = Watch(of: self, on: db.handle)
            let context = Unmanaged.passUnretained(watch).toOpaque()
            sqlite3_progress_handler(db.handle, 10_000, { Watch.check($0) }, context)
            return watch
        }
        return try withExtendedLifetime(watch) { try body(connection) }
    }

    /// The context of SQLite's progress handler, on the thread that makes the copy.
    private final class Watch {
        private let copy: RunningCopy
        private let connection: OpaquePointer?

        init(of copy: RunningCopy, on connection: OpaquePointer?) {
            (self.copy, self.connection) = (copy, connection)
        }

        /// Records the progress. If the result is 1, SQLite ends the statement.
        static func check(_ context: UnsafeMutableRawPointer?) -> Int32 {
            guard let context else { return 0 }
            let this = Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue()
            var (pages, highest): (Int32, Int32) = (0, 0)
            // This is the number of pages that were read because the cache did not have them. The
            // counts of read bytes in /proc are not used: they are missing if nobody may inspect
            // the process.
            if sqlite3_db_status(this.connection, SQLITE_DBSTATUS_CACHE_MISS, &pages, &highest, 0) == SQLITE_OK {
                this.copy.pagesRead.store(Int(pages), ordering: .relaxed)
            }
            return this.copy.isInterrupted.load(ordering: .relaxed) ? 1 : 0
        }
    }
}
