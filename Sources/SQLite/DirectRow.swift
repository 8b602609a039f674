internal import CSQLite
package import Foundation

/// The current row of a statement, read directly from SQLite. When the lifetime of this value
/// ends, the statement is reset.
package struct DirectRow: ~Copyable {
    /// The handle of the statement, for functions of SQLite that this type does not wrap.
    package let statement: OpaquePointer

    /// Reads the rows of a statement whose parameters are already bound.
    package init(_ statement: OpaquePointer) {
        self.statement = statement
    }

    deinit {
        sqlite3_reset(self.statement)
    }

    /// Fetches all rows and decodes them.
    package func all<Value>(_ decode: (borrowing DirectRow) throws -> Value) throws -> [Value] {
        var values: [Value] = []
        while try self.step() { values.append(try decode(self)) }
        return values
    }

    /// Fetches the next row. Returns `false` after the last one.
    package func step() throws -> Bool {
        switch sqlite3_step(self.statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw DatabaseError(of: sqlite3_db_handle(self.statement), code)
        }
    }

    /// The number of the column with a name; `nil` if there is none.
    package func position(named name: String) -> Int32? {
        let columns = 0..<sqlite3_column_count(self.statement)
        return name.withCString { name in columns.first { strcmp(sqlite3_column_name(self.statement, $0), name) == 0 } }
    }

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(self.statement, column) }

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(self.statement, column) == SQLITE_NULL }

    /// The text; empty if the column is null.
    package func text(_ column: Int32) -> String {
        sqlite3_column_text(self.statement, column).map { String(cString: $0) } ?? ""
    }

    /// A copy of the bytes, which outlives the row.
    package func bytes(_ column: Int32) -> [UInt8] {
        let start = sqlite3_column_blob(self.statement, column)
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(self.statement, column))))
    }

    /// A copy of the bytes, which outlives the row.
    package func data(_ column: Int32) -> Data {
        guard let bytes = sqlite3_column_blob(self.statement, column) else { return Data() }
        return Data(bytes: bytes, count: Int(sqlite3_column_bytes(self.statement, column)))
    }
}
