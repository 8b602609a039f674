internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// The row of a statement, read straight from SQLite: for the one query that all phones wait for at once.
///
/// GRDB's `Row` makes an object and a list of column names for each, which costs more than the query.
struct DirectRow {
    private let statement: OpaquePointer

    /// Binds the parameters `?1`, `?2` and so on.
    init(_ statement: Statement, _ parameters: Int64...) {
        self.statement = statement.sqliteStatement
        sqlite3_reset(self.statement)
        for (index, value) in parameters.enumerated() {
            sqlite3_bind_int64(self.statement, Int32(index + 1), value)
        }
    }

    /// Fetches the next row; `false` if there is none.
    func step(_ db: Database) throws -> Bool {
        switch sqlite3_step(self.statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
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

    /// Lets go of the row, and of what it keeps the database from doing.
    func close() {
        sqlite3_reset(self.statement)
    }
}
