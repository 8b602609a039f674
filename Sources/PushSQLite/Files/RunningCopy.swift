internal import CSQLite
internal import SQLite
internal import Synchronization

/// A running copy of a database. Other threads can end the copy early, and read its progress.
package final class RunningCopy: Sendable {
    private let isInterrupted = Atomic(false)
    private let pagesRead = Atomic(0)
    /// The connection that works at the moment. A lock protects it, since another thread
    /// interrupts it.
    private let connection = Mutex<Connection?>(nil)

    package init() {}

    /// The bytes read by the current connection, or the last one.
    package var bytesRead: Int { self.pagesRead.load(ordering: .relaxed) * Writer.pageSize }

    /// Makes the copy throw an error soon; the copy then leaves no file behind.
    package func interrupt() {
        self.isInterrupted.store(true, ordering: .relaxed)
        // SQLite checks a whole database in one step, during which only an interruption of its
        // connection ends the check.
        self.connection.withLock { $0?.interrupt() }
    }

    /// Runs `body`, whose statements end with an error once the copy is interrupted. Throws the
    /// errors of `body`.
    func during<Value>(_ connection: Connection, _ body: (Connection) throws -> Value) throws -> Value {
        self.connection.withLock { $0 = connection }
        defer { self.connection.withLock { $0 = nil } }
        guard !self.isInterrupted.load(ordering: .relaxed) else { throw DatabaseError(resultCode: .interrupt) }
        self.pagesRead.store(0, ordering: .relaxed)
        // The handler checks while statements run, since SQLite forgets an interruption between
        // two of them.
        let watch = connection.exclusively { db in
            let watch = Watch(of: self, on: db.handle)
            let context = Unmanaged.passUnretained(watch).toOpaque()
            sqlite3_progress_handler(db.handle, 10_000, { Watch.check($0) }, context)
            return watch
        }
        return try withExtendedLifetime(watch) { try body(connection) }
    }

    /// The context of SQLite's progress handler, on the thread that works.
    private final class Watch {
        private let copy: RunningCopy
        private let connection: OpaquePointer?

        init(of copy: RunningCopy, on connection: OpaquePointer?) {
            (self.copy, self.connection) = (copy, connection)
        }

        /// Records the progress; 1 ends the statement.
        static func check(_ context: UnsafeMutableRawPointer?) -> Int32 {
            guard let context else { return 0 }
            let this = Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue()
            var (pages, highest): (Int32, Int32) = (0, 0)
            // The number of pages that were read because they were not in the connection's cache.
            // The counts in /proc are missing for a process that nobody may inspect.
            if sqlite3_db_status(this.connection, SQLITE_DBSTATUS_CACHE_MISS, &pages, &highest, 0) == SQLITE_OK {
                this.copy.pagesRead.store(Int(pages), ordering: .relaxed)
            }
            return this.copy.isInterrupted.load(ordering: .relaxed) ? 1 : 0
        }
    }
}
