internal import CSQLite
internal import Synchronization

/// An open database, which `Connection` lends to one thread at a time.
///
/// All methods throw `DatabaseError`, and the errors of their closures.
package final class Database {
    /// The handle of the connection, for functions of SQLite that this module does not wrap. `nil`
    /// after the connection is closed.
    package private(set) var handle: OpaquePointer?
    /// Whether the connection is open. The lock ensures that no other thread interrupts the
    /// connection while it is being closed.
    private let isOpen = Mutex(true)
    /// The compiled statements that will be used again, by their texts.
    private var statements: [String: Statement] = [:]
    /// Whether `inTransaction` or `inSavepoint` is running. An error may already have rolled its
    /// transaction back.
    private var isInBlock = false

    init(path: String, isReadOnly: Bool, busyTimeout: Duration) throws {
        // SQLite needs no locks of its own, since `Connection` has a lock.
        let flags =
            SQLITE_OPEN_NOMUTEX | (isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        let code = sqlite3_open_v2(path, &self.handle, flags, nil)
        guard code == SQLITE_OK else { throw DatabaseError(of: self.handle, code) }
        sqlite3_extended_result_codes(self.handle, 1)
        csqlite_refuse_texts_in_double_quotes(self.handle)
        sqlite3_busy_timeout(self.handle, Int32(clamping: busyTimeout.components.seconds * 1000))
        // SQLite reads the file only at the first statement. So this statement fails if the file
        // contains no database.
        try self.execute(sql: "select 1 from sqlite_schema limit 1; pragma foreign_keys = on")
    }

    deinit {
        self.statements.removeAll()
        sqlite3_close_v2(self.handle)
    }

    // MARK: Statements

    /// Compiles a statement. The caller keeps it.
    package func makeStatement(sql: String) throws -> Statement {
        try self.checkTransaction()
        return try Statement(sql, in: self.handle)
    }

    /// Compiles a statement at the first call with this text, and keeps it.
    func cachedStatement(sql: String) throws -> Statement {
        try self.checkTransaction()
        if let statement = self.statements[sql] { return statement }
        let statement = try self.makeStatement(sql: sql)
        self.statements[sql] = statement
        return statement
    }

    /// Runs one or more statements without parameters. They are compiled at each call.
    package func execute(sql: String) throws {
        try self.checkTransaction()
        let code = sqlite3_exec(self.handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw DatabaseError(of: self.handle, code) }
    }

    // MARK: Transactions

    package var isInsideTransaction: Bool { self.handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    /// Runs `body` in a transaction. If `body` or the commit throws, rolls the transaction back.
    package func inTransaction<Value>(begin: SQL = "begin immediate", _ body: () throws -> Value) throws -> Value {
        try self.run(begin)
        return try self.inBlock(commit: "commit", rollback: "rollback", body)
    }

    /// Runs `body` in a savepoint of the running transaction. If `body` throws, rolls only the
    /// savepoint back.
    package func inSavepoint<Value>(_ body: () throws -> Value) throws -> Value {
        try self.run("savepoint part")
        return try self.inBlock(commit: "release part", rollback: "rollback to part; release part", body)
    }

    private func inBlock<Value>(commit: SQL, rollback: String, _ body: () throws -> Value) throws -> Value {
        let wasInBlock = self.isInBlock
        self.isInBlock = true
        defer { self.isInBlock = wasInBlock }
        do {
            let value = try body()
            try self.run(commit)
            return value
        } catch {
            self.isInBlock = false
            // If the disk or an allocation has failed, SQLite itself has rolled the whole
            // transaction back. Then nothing is left to do, and the first error is the cause.
            if self.isInsideTransaction { try? self.execute(sql: rollback) }
            throw error
        }
    }

    /// Refuses a statement if SQLite has already rolled back the transaction around it. The
    /// statement would otherwise run as a transaction of its own.
    private func checkTransaction() throws {
        guard !self.isInBlock || self.isInsideTransaction else {
            throw DatabaseError(resultCode: .abort, message: "the transaction was rolled back")
        }
    }

    // MARK: Files

    package enum CheckpointMode: Int32 {
        case passive = 0
        case restart = 2
        case truncate = 3
    }

    /// Copies pages of the write-ahead log into the database. Returns the number of pages in the
    /// log, and how many of them are copied.
    @discardableResult
    package func checkpoint(_ mode: CheckpointMode) throws -> (walFrameCount: Int, checkpointedFrameCount: Int) {
        var (length, copied): (Int32, Int32) = (0, 0)
        guard let handle else { throw DatabaseError(resultCode: .misuse) }
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode.rawValue, &length, &copied)
        guard code == SQLITE_OK else { throw DatabaseError(of: self.handle, code) }
        return (Int(length), Int(copied))
    }

    func interrupt() { self.isOpen.withLock { if $0 { sqlite3_interrupt(self.handle) } } }

    func close() throws {
        self.statements.removeAll()
        try self.isOpen.withLock {
            let code = sqlite3_close(self.handle)
            guard code == SQLITE_OK else { throw DatabaseError(of: self.handle, code) }
            self.handle = nil
            $0 = false
        }
    }
}

/// A compiled statement of one connection. It must not outlive its `Database`.
package final class Statement {
    package let handle: OpaquePointer?

    /// Compiles the first statement of a text.
    init(_ sql: String, in connection: OpaquePointer?) throws {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v2(connection, sql, -1, &handle, nil)
        guard code == SQLITE_OK else { throw DatabaseError(of: connection, code) }
        // The handle is `nil` if the text has only blanks and comments.
        self.handle = handle
    }

    deinit {
        sqlite3_finalize(self.handle)
    }

    package var parameterCount: Int { Int(sqlite3_bind_parameter_count(self.handle)) }

    /// The rows of the statement. `arguments` must contain one value for each of its parameters.
    package func rows(_ arguments: [any Bindable]) throws -> DirectRow {
        guard let handle, arguments.count == self.parameterCount else {
            throw DatabaseError(resultCode: .misuse, message: "a statement has other parameters than its text")
        }
        for (index, value) in arguments.enumerated() { value.bind(to: handle, at: Int32(index + 1)) }
        return DirectRow(handle)
    }
}
