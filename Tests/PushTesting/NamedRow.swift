internal import CSQLite
package import Foundation
package import SQLite

/// A copy of a row of an SQLite database. Its columns are read by name.
///
/// A read throws `RowDecodingError` if the column is missing or has a value of another type, as in
/// a damaged row.
package struct NamedRow: CustomStringConvertible {
    private let names: [String]
    private let values: [Value]

    package enum Value: Equatable {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob(Data)
    }

    fileprivate init(_ row: borrowing DirectRow) {
        let columns = 0..<sqlite3_column_count(row.statement)
        self.names = columns.map { sqlite3_column_name(row.statement, $0).map { String(cString: $0) } ?? "" }
        self.values = columns.map { Self.value($0, of: row) }
    }

    fileprivate static func value(_ column: Int32, of row: borrowing DirectRow) -> Value {
        switch sqlite3_column_type(row.statement, column) {
        case SQLITE_INTEGER: .integer(row.integer(column))
        case SQLITE_FLOAT: .real(sqlite3_column_double(row.statement, column))
        case SQLITE_TEXT: .text(row.text(column))
        case SQLITE_BLOB: .blob(row.data(column))
        default: .null
        }
    }

    package subscript<Value: ColumnDecodable>(_ column: String) -> Value {
        get throws {
            guard let index = self.names.firstIndex(of: column) else { throw RowDecodingError() }
            return try self[index]
        }
    }

    package subscript<Value: ColumnDecodable>(_ index: Int) -> Value {
        get throws {
            guard self.values.indices.contains(index), let value = Value(column: self.values[index]) else {
                throw RowDecodingError()
            }
            return value
        }
    }

    /// The columns and values as text, for tests and for developers' error messages.
    package var description: String {
        let columns = zip(self.names, self.values).map { name, value in
            switch value {
            case .null: "\(name):NULL"
            case .integer(let number): "\(name):\(number)"
            case .real(let number): "\(name):\(number)"
            case .text(let text): "\(name):\"\(text)\""
            case .blob(let data): "\(name):\(data.base64EncodedString())"
            }
        }
        return "[\(columns.joined(separator: " "))]"
    }
}

/// A column's value has another type than the code expects, or the column is missing.
package struct RowDecodingError: Error {}

/// A type that a column's value can be decoded to.
package protocol ColumnDecodable {
    /// Makes the value of a column; `nil` if the column's value has another type.
    init?(column value: NamedRow.Value)
}

extension Int64: ColumnDecodable {
    package init?(column value: NamedRow.Value) {
        guard case .integer(let number) = value else { return nil }
        self = number
    }
}

extension Int: ColumnDecodable {
    package init?(column value: NamedRow.Value) {
        guard case .integer(let number) = value else { return nil }
        self.init(exactly: number)
    }
}

extension Bool: ColumnDecodable {
    package init?(column value: NamedRow.Value) {
        guard case .integer(let number) = value else { return nil }
        self = number != 0
    }
}

extension String: ColumnDecodable {
    package init?(column value: NamedRow.Value) {
        guard case .text(let text) = value else { return nil }
        self = text
    }
}

extension Data: ColumnDecodable {
    package init?(column value: NamedRow.Value) {
        guard case .blob(let data) = value else { return nil }
        self = data
    }
}

extension Optional: ColumnDecodable where Wrapped: ColumnDecodable {
    package init?(column value: NamedRow.Value) {
        if case .null = value {
            self = .none
        } else if let wrapped = Wrapped(column: value) {
            self = .some(wrapped)
        } else {
            return nil
        }
    }
}

// MARK: - Queries

extension NamedRow {
    package static func fetchAll(_ db: Database, sql: String, arguments: [any Bindable] = []) throws -> [NamedRow] {
        try db.all(composed: SQL(sql: sql, arguments: arguments)) { NamedRow($0) }
    }

    package static func fetchOne(_ db: Database, sql: String, arguments: [any Bindable] = []) throws -> NamedRow? {
        try self.fetchAll(db, sql: sql, arguments: arguments).first
    }
}

/// Queries of one column.
extension ColumnDecodable {
    package static func fetchAll(_ db: Database, sql: String, arguments: [any Bindable] = []) throws -> [Self] {
        try db.all(composed: SQL(sql: sql, arguments: arguments)) { row in
            guard let value = Self(column: NamedRow.value(0, of: row)) else { throw RowDecodingError() }
            return value
        }
    }

    /// The first row's value; `nil` if there is no row, or the value is null.
    package static func fetchOne(_ db: Database, sql: String, arguments: [any Bindable] = []) throws -> Self? {
        try Optional<Self>.fetchAll(db, sql: sql, arguments: arguments).first ?? nil
    }
}

extension Database {
    /// Runs one statement with parameters.
    package func execute(sql: String, arguments: [any Bindable]) throws {
        _ = try self.all(composed: SQL(sql: sql, arguments: arguments)) { _ in }
    }
}

extension Connection {
    /// Runs `body` in a transaction.
    package func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try self.exclusively { db in try db.inTransaction { try body(db) } }
    }
}
