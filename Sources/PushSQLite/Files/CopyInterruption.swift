internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Ends a copy early, from another thread.
package final class CopyInterruption: Sendable {
    private let isSet = Atomic(false)
    /// The connection that works at the moment. A lock, since it is interrupted from another thread.
    private let connection = Mutex<DatabaseQueue?>(nil)

    package init() {}

    /// The copy throws soon, and leaves nothing behind.
    package func set() {
        self.isSet.store(true, ordering: .relaxed)
        // Checking a whole database is one step, during which SQLite only looks at its own mark.
        self.connection.withLock { $0?.interrupt() }
    }

    /// Runs `body`, whose statements end with an error once it is set. Throws what `body` throws.
    func during<Value>(_ connection: DatabaseQueue, _ body: (DatabaseQueue) throws -> Value) throws -> Value {
        self.connection.withLock { $0 = connection }
        defer { self.connection.withLock { $0 = nil } }
        guard !self.isSet.load(ordering: .relaxed) else { throw DatabaseError(resultCode: .SQLITE_INTERRUPT) }
        // Asked while statements run, since SQLite forgets an interruption that comes between two.
        let context = Unmanaged.passUnretained(self).toOpaque()
        connection.writeWithoutTransaction { db in
            sqlite3_progress_handler(db.sqliteConnection, 10_000, { CopyInterruption.isSet($0) }, context)
        }
        return try withExtendedLifetime(self) { try body(connection) }
    }

    private static func isSet(_ context: UnsafeMutableRawPointer?) -> Int32 {
        guard let context else { return 0 }
        let this = Unmanaged<CopyInterruption>.fromOpaque(context).takeUnretainedValue()
        return this.isSet.load(ordering: .relaxed) ? 1 : 0
    }
}
