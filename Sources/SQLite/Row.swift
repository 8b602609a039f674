internal import CSQLite
package import Foundation

/// A copy of a row, whose columns are read by name.
///
/// Reading throws `RowDecodingError` if a column is missing, or has a value of another type than
/// requested: a damaged row may have one, despite the schema.
package struct Row: CustomStringConvertible {
    /// The names are shared by all rows of a result.
    private let names: [String]
    private let values: [Value]

    package enum Value: Equatable {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob(Data)
    }

    fileprivate init(names: [String], _ row: borrowing DirectRow) {
        self.names = names
        self.values = names.indices.map { row.value(Int32($0)) }
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

    /// For tests and error messages of developers.
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
    /// `nil` if the value is of another type.
    init?(column value: Row.Value)
}

extension Int64: ColumnDecodable {
    package init?(column value: Row.Value) {
        guard case .integer(let number) = value else { return nil }
        self = number
    }
}

extension Int: ColumnDecodable {
    package init?(column value: Row.Value) {
        guard case .integer(let number) = value else { return nil }
        self.init(exactly: number)
    }
}

extension Bool: ColumnDecodable {
    package init?(column value: Row.Value) {
        guard case .integer(let number) = value else { return nil }
        self = number != 0
    }
}

extension String: ColumnDecodable {
    package init?(column value: Row.Value) {
        guard case .text(let text) = value else { return nil }
        self = text
    }
}

extension Data: ColumnDecodable {
    package init?(column value: Row.Value) {
        guard case .blob(let data) = value else { return nil }
        self = data
    }
}

extension Optional: ColumnDecodable where Wrapped: ColumnDecodable {
    package init?(column value: Row.Value) {
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

extension Row {
    package static func fetchAll(_ statement: Statement, arguments: [any Bindable] = []) throws -> [Row] {
        var (names, rows): ([String]?, [Row]) = (nil, [])
        try statement.rows(arguments).forEach { row in
            let columns = names ?? row.names
            names = columns
            rows.append(Row(names: columns, row))
            return true
        }
        return rows
    }

    package static func fetchAll(_ db: Database, sql: String, arguments: [any Bindable] = []) throws -> [Row] {
        try self.fetchAll(db.makeStatement(sql: sql), arguments: arguments)
    }

    package static func fetchOne(_ statement: Statement, arguments: [any Bindable] = []) throws -> Row? {
        try statement.rows(arguments).map { Row(names: $0.names, $0) }
    }

    package static func fetchOne(_ db: Database, sql: String, arguments: [any Bindable] = []) throws -> Row? {
        try self.fetchOne(db.makeStatement(sql: sql), arguments: arguments)
    }
}

/// Queries of one column.
extension ColumnDecodable {
    package static func fetchAll(_ statement: Statement, arguments: [any Bindable] = []) throws -> [Self] {
        var values: [Self] = []
        try statement.rows(arguments).forEach { row in
            guard let value = Self(column: row.value(0)) else { throw RowDecodingError() }
            values.append(value)
            return true
        }
        return values
    }

    package static func fetchAll(_ db: Database, sql: String, arguments: [any Bindable] = []) throws -> [Self] {
        try self.fetchAll(db.makeStatement(sql: sql), arguments: arguments)
    }

    /// The first row's value; `nil` if there is no row, or the value is null.
    package static func fetchOne(_ statement: Statement, arguments: [any Bindable] = []) throws -> Self? {
        let value: Row.Value? = try statement.rows(arguments).map { $0.value(0) }
        guard let value, value != .null else { return nil }
        guard let decoded = Self(column: value) else { throw RowDecodingError() }
        return decoded
    }

    package static func fetchOne(_ db: Database, sql: String, arguments: [any Bindable] = []) throws -> Self? {
        try self.fetchOne(db.makeStatement(sql: sql), arguments: arguments)
    }
}
