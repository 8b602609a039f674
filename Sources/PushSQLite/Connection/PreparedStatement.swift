internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// A value that can be a parameter of a statement. All of them fit into an existential without a
/// box.
protocol Bindable {
    /// Binds the value to a parameter, counted from 1. SQLite copies values that are passed by
    /// pointer.
    func bind(to statement: OpaquePointer, at index: Int32)
}

extension Database {
    /// Runs a statement that writes; returns how many rows it changed.
    ///
    /// The statement is compiled once for each connection and kept with its text, so a text that
    /// names values instead of parameters costs memory and time. Throws `DatabaseError`.
    @discardableResult
    func run(prepared sql: String, _ values: any Bindable...) throws -> Int {
        try self.bound(sql, values).forEach { _ in true }
        return self.changesCount
    }

    /// The first row of a statement that is compiled once, decoded; `nil` if there is none.
    ///
    /// A statement that writes must return one row at most.
    func first<Result>(
        prepared sql: String,
        _ values: any Bindable...,
        decode: (borrowing DirectRow) throws -> Result
    ) throws -> Result? {
        try self.bound(sql, values).map(decode)
    }

    /// All rows of a statement that is compiled once, decoded.
    func all<Result>(
        prepared sql: String,
        _ values: any Bindable...,
        decode: (borrowing DirectRow) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try self.bound(sql, values).forEach { row in
            results.append(try decode(row))
            return true
        }
        return results
    }

    /// Steps through a statement that is compiled once, until the last row, or until `isGoingOn`
    /// returns `false`.
    func step(prepared sql: String, isGoingOn: () -> Bool) throws {
        try self.bound(sql, []).forEach { _ in isGoingOn() }
    }

    /// Calls `body` with each row of a statement that is compiled once.
    func each(
        prepared sql: String,
        _ values: any Bindable...,
        body: (borrowing DirectRow) throws -> Void
    ) throws {
        try self.bound(sql, values).forEach { row in
            try body(row)
            return true
        }
    }

    private func bound(_ sql: String, _ values: [any Bindable]) throws -> DirectRow {
        let statement = try self.cachedStatement(sql: sql).sqliteStatement
        for (index, value) in values.enumerated() { value.bind(to: statement, at: Int32(index + 1)) }
        return DirectRow(statement)
    }
}

// SQLITE_TRANSIENT, a macro that is not imported: SQLite copies the bytes.
private var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

extension Int64: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) {
        sqlite3_bind_int64(statement, index, self)
    }
}

extension Int: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) {
        sqlite3_bind_int64(statement, index, Int64(self))
    }
}

extension Bool: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) {
        sqlite3_bind_int64(statement, index, self ? 1 : 0)
    }
}

extension String: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) {
        // The byte count is passed, and not the end of the C string, since a text may contain a
        // null.
        _ = self.withCString { sqlite3_bind_text(statement, index, $0, Int32(self.utf8.count), transient) }
    }
}

extension Data: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) {
        _ = self.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress {
                sqlite3_bind_blob(statement, index, start, Int32(bytes.count), transient)
            } else {
                sqlite3_bind_zeroblob(statement, index, 0)
            }
        }
    }
}

extension Optional: Bindable where Wrapped: Bindable {
    func bind(to statement: OpaquePointer, at index: Int32) {
        if let self {
            self.bind(to: statement, at: index)
        } else {
            sqlite3_bind_null(statement, index)
        }
    }
}
