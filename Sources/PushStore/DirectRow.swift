internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// The row of a statement, read straight from SQLite; it ends with the value.
struct DirectRow: ~Copyable {
    private let statement: OpaquePointer

    /// Binds the parameters.
    init(_ statement: Statement, _ parameters: [Int64]) {
        self.statement = statement.sqliteStatement
        for (index, value) in parameters.enumerated() {
            sqlite3_bind_int64(self.statement, Int32(index + 1), value)
        }
    }

    deinit {
        sqlite3_reset(self.statement)
    }

    /// Fetches the row and decodes it; `nil` if there is none.
    consuming func map<Value>(_ decode: (borrowing DirectRow) -> Value) throws -> Value? {
        switch sqlite3_step(self.statement) {
        case SQLITE_ROW: return decode(self)
        case SQLITE_DONE: return nil
        case let code:
            let message = String(cString: sqlite3_errmsg(sqlite3_db_handle(self.statement)))
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
    }

    func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(self.statement, column)
    }

    /// `nil` where the column is null.
    func date(_ column: Int32) -> Date? {
        guard sqlite3_column_type(self.statement, column) != SQLITE_NULL else { return nil }
        return Date(milliseconds: self.integer(column))
    }

    /// A copy, good for longer than the row.
    func data(_ column: Int32) -> Data {
        guard let bytes = sqlite3_column_blob(self.statement, column) else { return Data() }
        return Data(bytes: bytes, count: Int(sqlite3_column_bytes(self.statement, column)))
    }
}
