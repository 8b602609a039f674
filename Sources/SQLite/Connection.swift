internal import Foundation

/// A connection to a database file, for one thread at a time: a lock makes other callers wait.
///
/// A closure that a caller passes must not use the connection again, since it would wait for ever.
/// It also must not keep the `Database`.
package final class Connection: Sendable {
    /// This lock guards `database`. A `Mutex` cannot, since `Database` is not `Sendable`.
    private let lock = NSLock()
    nonisolated(unsafe) private let database: Database
    package let path: String

    /// Opens the file at `path`, or by default a database in memory. Unless `isReadOnly`, creates
    /// a missing file. Calls `prepare` once. Throws `DatabaseError`, and rethrows the errors of
    /// `prepare`.
    package init(
        path: String = ":memory:",
        isReadOnly: Bool = false,
        busyTimeout: Duration = .zero,
        prepare: (Database) throws -> Void = { _ in }
    ) throws {
        self.path = path
        self.database = try Database(path: path, isReadOnly: isReadOnly, busyTimeout: busyTimeout)
        try prepare(self.database)
    }

    /// Runs reads that all see the same commit. Their statements cannot write.
    package func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try self.exclusively { db in
            try db.execute(sql: "pragma query_only = 1")
            // If this fails, the connection stays read-only, and refuses each later write.
            defer { try? db.execute(sql: "pragma query_only = 0") }
            return try db.inTransaction(begin: "begin") { try body(db) }
        }
    }

    /// Runs `body` without a transaction around it, so that each statement is a transaction.
    package func exclusively<Value>(_ body: (Database) throws -> Value) rethrows -> Value {
        self.lock.lock()
        defer { self.lock.unlock() }
        return try body(self.database)
    }

    /// Makes the running statement fail with `SQLITE_INTERRUPT`. Any thread may call it.
    package func interrupt() {
        self.database.interrupt()
    }

    /// Closes the connection; later statements fail with `SQLITE_MISUSE`. Throws `DatabaseError`
    /// if a statement is still in use.
    package func close() throws {
        try self.exclusively { try $0.close() }
    }
}
