internal import Foundation

/// A connection to a database file, for one thread at a time: a lock makes callers wait.
///
/// The closures must not use the connection again, which would wait forever, and must not keep the
/// `Database`.
package final class Connection: Sendable {
    /// A `Mutex` cannot give access to values that are not `Sendable`. This lock guards
    /// `database`.
    private let lock = NSLock()
    nonisolated(unsafe) private let database: Database
    package let path: String

    /// Opens the file at `path`, or a database in memory without a path, and creates the file
    /// unless `isReadOnly`. `prepare` runs once. Throws `DatabaseError`, and errors of `prepare`.
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

    /// Runs reads that all see one commit. They cannot write.
    package func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try self.exclusively { db in
            try db.execute(sql: "pragma query_only = 1")
            // A connection that cannot be made writable again refuses each later write.
            defer { try? db.execute(sql: "pragma query_only = 0") }
            return try db.inTransaction(.deferred) { try body(db) }
        }
    }

    /// Runs `body` without a transaction: each statement has its own.
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
