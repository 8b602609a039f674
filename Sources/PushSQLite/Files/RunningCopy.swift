internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// A copy while it runs, for other threads: they end it early, and see how much it has read.
package final class RunningCopy: Sendable {
    private let isInterrupted = Atomic(false)
    private let pagesRead = Atomic(0)
    /// The connection that works at the moment. A lock, since it is interrupted from another thread.
    private let connection = Mutex<DatabaseQueue?>(nil)

    package init() {}

    /// What the connection has read that works at the moment, or worked last.
    package var bytesRead: Int { self.pagesRead.load(ordering: .relaxed) * Writer.pageSize }

    /// The copy throws soon, and leaves nothing behind.
    package func interrupt() {
        self.isInterrupted.store(true, ordering: .relaxed)
        // Checking a whole database is one step, during which SQLite only looks at its own mark.
        self.connection.withLock { $0?.interrupt() }
    }

    /// Runs `body`, whose statements end with an error once it is interrupted. Throws what `body` throws.
    func during<Value>(_ connection: DatabaseQueue, _ body: (DatabaseQueue) throws -> Value) throws -> Value {
        self.connection.withLock { $0 = connection }
        defer { self.connection.withLock { $0 = nil } }
        guard !self.isInterrupted.load(ordering: .relaxed) else { throw DatabaseError(resultCode: .SQLITE_INTERRUPT) }
        self.pagesRead.store(0, ordering: .relaxed)
        // Asked while statements run, since SQLite forgets an interruption that comes between two.
        let watch = connection.writeWithoutTransaction { db in
            let watch = Watch(of: self, on: db.sqliteConnection)
            let context = Unmanaged.passUnretained(watch).toOpaque()
            sqlite3_progress_handler(db.sqliteConnection, 10_000, { Watch.look($0) }, context)
            return watch
        }
        return try withExtendedLifetime(watch) { try body(connection) }
    }

    /// What SQLite's progress handler is given, on the thread that works.
    private final class Watch {
        private let copy: RunningCopy
        private let connection: OpaquePointer?

        init(of copy: RunningCopy, on connection: OpaquePointer?) {
            self.copy = copy
            self.connection = connection
        }

        /// Notes what was read; 1 ends the statement.
        static func look(_ context: UnsafeMutableRawPointer?) -> Int32 {
            guard let context else { return 0 }
            let this = Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue()
            var (pages, highest): (Int32, Int32) = (0, 0)
            // Pages that were not in the connection's memory. /proc does not count for a process that nobody may look into.
            if sqlite3_db_status(this.connection, SQLITE_DBSTATUS_CACHE_MISS, &pages, &highest, 0) == SQLITE_OK {
                this.copy.pagesRead.store(Int(pages), ordering: .relaxed)
            }
            return this.copy.isInterrupted.load(ordering: .relaxed) ? 1 : 0
        }
    }
}
