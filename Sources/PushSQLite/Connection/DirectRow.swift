internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import PushCore
internal import PushStore

/// A query that all phones may run at the same time. It bypasses GRDB, whose queue, statement
/// cache and rows cost more than the query itself.
struct DirectQuery: Sendable {
    let name: Name
    /// `?1`, `?2` and so on stand for the parameters.
    let sql: String

    /// The raw value is the index of the statement that a reader has prepared.
    enum Name: Int, CaseIterable {
        case notification
        case token
        case changes
        case change
        case payload
    }
}

/// The current row of a statement, read directly from SQLite. The statement is reset when the
/// value ends.
struct DirectRow: ~Copyable {
    private let statement: OpaquePointer

    /// The rows of a statement whose parameters are bound.
    init(_ statement: OpaquePointer) {
        self.statement = statement
    }

    /// Binds the key, if there is one, and then the parameters.
    init(_ statement: Statement, key: Fingerprint?, _ parameters: [Int64]) {
        self.statement = statement.sqliteStatement
        if let key {
            // SQLITE_TRANSIENT, a macro that is not imported: SQLite copies the bytes.
            let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            _ = key.withUnsafeBytes { sqlite3_bind_blob(self.statement, 1, $0.baseAddress, Int32($0.count), transient) }
        }
        let first: Int32 = key == nil ? 1 : 2
        for (index, value) in parameters.enumerated() {
            sqlite3_bind_int64(self.statement, first + Int32(index), value)
        }
    }

    deinit {
        sqlite3_reset(self.statement)
    }

    /// Fetches the row and decodes it; `nil` if there is none.
    consuming func map<Value>(_ decode: (borrowing DirectRow) throws -> Value) throws -> Value? {
        try self.step() ? decode(self) : nil
    }

    /// Fetches row after row until the last, or until `decode` returns `false`.
    consuming func forEach(_ decode: (borrowing DirectRow) throws -> Bool) throws {
        while try self.step() {
            guard try decode(self) else { return }
        }
    }

    private func step() throws -> Bool {
        switch sqlite3_step(self.statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let message = String(cString: sqlite3_errmsg(sqlite3_db_handle(self.statement)))
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
    }

    func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(self.statement, column)
    }

    func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(self.statement, column) == SQLITE_NULL
    }

    /// `nil` if the column is null.
    func date(_ column: Int32) -> Date? {
        guard !self.isNull(column) else { return nil }
        return Date(milliseconds: self.integer(column))
    }

    /// Empty if the column is null.
    func text(_ column: Int32) -> String {
        sqlite3_column_text(self.statement, column).map { String(cString: $0) } ?? ""
    }

    /// `nil` if the column is null.
    func optionalText(_ column: Int32) -> String? {
        self.isNull(column) ? nil : self.text(column)
    }

    /// A copy, which outlives the row.
    func bytes(_ column: Int32) -> [UInt8] {
        let start = sqlite3_column_blob(self.statement, column)
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(self.statement, column))))
    }

    /// A copy, which outlives the row.
    func data(_ column: Int32) -> Data {
        guard let bytes = sqlite3_column_blob(self.statement, column) else { return Data() }
        return Data(bytes: bytes, count: Int(sqlite3_column_bytes(self.statement, column)))
    }

    /// A value of one of the kinds that a move copies, or null; `nil` if it is of another type.
    func value(_ column: Int32, _ kind: MovedValue.Kind) -> MovedValue? {
        switch (sqlite3_column_type(self.statement, column), kind) {
        case (SQLITE_NULL, _): return .null
        case (SQLITE_INTEGER, .integer): return .integer(self.integer(column))
        case (SQLITE_INTEGER, .boolean):
            let number = self.integer(column)
            return number == 0 || number == 1 ? .boolean(number == 1) : nil
        case (SQLITE_TEXT, .text):
            guard let bytes = sqlite3_column_text(self.statement, column) else { return nil }
            let text = UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(self.statement, column)))
            return String(validating: text, as: UTF8.self).map { .text($0) }
        case (SQLITE_BLOB, .bytes): return .bytes(self.data(column))
        default: return nil
        }
    }
}
