internal import CSQLite
internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// A query that all phones may run at the same time. Each reader finds its statement by a number,
/// without a look-up of its text.
struct DirectQuery: Sendable {
    let name: Name
    /// The text, with `?1`, `?2` and so on for the parameters.
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

extension DirectRow {
    /// Binds the key, if there is one, and then the parameters.
    init(_ statement: OpaquePointer, key: Fingerprint?, _ parameters: [Int64]) {
        self.init(statement)
        if let key {
            // The value of SQLITE_TRANSIENT, a macro that Swift does not import: it makes SQLite
            // copy the bytes.
            let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            _ = key.withUnsafeBytes { sqlite3_bind_blob(self.statement, 1, $0.baseAddress, Int32($0.count), transient) }
        }
        let first: Int32 = key == nil ? 1 : 2
        for (index, value) in parameters.enumerated() {
            sqlite3_bind_int64(self.statement, first + Int32(index), value)
        }
    }

    /// `nil` if the column is null.
    func date(_ column: Int32) -> Date? {
        guard !self.isNull(column) else { return nil }
        return Date(milliseconds: self.integer(column))
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

extension DirectRow: StoredRow {
    func integer(_ column: some SelectedColumn) -> Int64 { self.integer(column.rawValue) }

    func optionalInteger(_ column: some SelectedColumn) -> Int64? {
        self.isNull(column) ? nil : self.integer(column)
    }

    func flag(_ column: some SelectedColumn) -> Bool { self.integer(column.rawValue) != 0 }

    func isNull(_ column: some SelectedColumn) -> Bool { self.isNull(column.rawValue) }

    /// `nil` if the column is null.
    func date(_ column: some SelectedColumn) -> Date? { self.date(column.rawValue) }

    /// Empty if the column is null.
    func text(_ column: some SelectedColumn) -> String { self.text(column.rawValue) }

    func optionalText(_ column: some SelectedColumn) -> String? { self.optionalText(column.rawValue) }

    /// A copy, which outlives the row.
    func bytes(_ column: some SelectedColumn) -> [UInt8] { self.bytes(column.rawValue) }

    /// A copy, which outlives the row.
    func data(_ column: some SelectedColumn) -> Data { self.data(column.rawValue) }

    func optionalData(_ column: some SelectedColumn) -> Data? { self.isNull(column) ? nil : self.data(column) }
}
