internal import CSQLite
internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// A query that many phones may run at the same time. Each reader compiles these queries when it
/// is made, so it need not look up a text. A raw value is an index in the reader's array of
/// statements.
enum DirectQuery: Int, CaseIterable {
    case notification, token, changes, change, payload

    /// The SQL text; its parameters are `?1`, `?2` and so on.
    var sql: String {
        switch self {
        case .notification: SQLiteReader.fetch
        case .token: SQLiteReader.tokenInUse
        case .changes: SQLiteReader.changes
        case .change: SQLiteReader.change
        case .payload: "select payload from notification where id = ?1"
        }
    }
}

extension Statement {
    /// The rows of the statement. Binds the key, if it is not `nil`, as the first parameter, and
    /// then the other parameters.
    func rows(key: Fingerprint?, _ parameters: [Int64]) throws -> DirectRow {
        guard let handle else { throw DatabaseError(resultCode: .misuse) }
        if let key {
            // This is the value of SQLITE_TRANSIENT, a macro that Swift does not import. It makes
            // SQLite copy the bytes.
            let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            _ = key.withUnsafeBytes { sqlite3_bind_blob(handle, 1, $0.baseAddress, Int32($0.count), transient) }
        }
        let first: Int32 = key == nil ? 1 : 2
        for (index, value) in parameters.enumerated() { sqlite3_bind_int64(handle, first + Int32(index), value) }
        return DirectRow(handle)
    }
}

extension Database {
    /// The number in the first row of a statement; `nil` if it has no row.
    func number(_ sql: SQL, _ values: any Bindable...) throws -> Int64? {
        let row = try self.rows(sql, values)
        return try row.step() ? row.integer() : nil
    }
}

extension DirectRow {
    /// Reads a value that is moved into another database. Returns `nil` if the value is neither
    /// null nor of the type `kind`.
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

extension DirectRow: StoredRow {
    func position(of name: String) throws -> Int32 {
        guard let position = self.position(named: name) else {
            throw DatabaseError(resultCode: .misuse, message: "a row has no column \(name)")
        }
        return position
    }

    func optionalInteger(_ column: Int32) -> Int64? { self.isNull(column) ? nil : self.integer(column) }
    func optionalText(_ column: Int32) -> String? { self.isNull(column) ? nil : self.text(column) }
    func flag(_ column: Int32) -> Bool { self.integer(column) != 0 }
    func optionalData(_ column: Int32) -> Data? { self.isNull(column) ? nil : self.data(column) }
}
