package import Foundation
internal import PushCore

/// Says which column of a row is read: a `SelectedColumn`, the column's name, or `OnlyColumn`.
package protocol ColumnReference {
    /// The number of the column in the row. Throws if the row has no such column.
    func position<Row: StoredRow & ~Copyable>(in row: borrowing Row) throws -> Int32
}

/// The column of a row that has no other.
package struct OnlyColumn: ColumnReference {
    package init() {}

    package func position<Row: StoredRow & ~Copyable>(in row: borrowing Row) -> Int32 { 0 }
}

extension String: ColumnReference {
    package func position<Row: StoredRow & ~Copyable>(in row: borrowing Row) throws -> Int32 {
        try row.position(of: self)
    }
}

/// The columns of a query, in the order of its `select`.
///
/// A case always reads its own column, because `list` has the columns in the order of the cases.
package protocol SelectedColumn: ColumnReference, CaseIterable, RawRepresentable<Int32> {
    /// The column, or the expression that computes it, as a query selects it.
    var sql: String { get }
}

extension SelectedColumn {
    @inline(__always)
    package func position<Row: StoredRow & ~Copyable>(in row: borrowing Row) -> Int32 { self.rawValue }

    /// The column with the case's name: `created_at` for the case `createdAt`.
    package var sql: String { self.columnName }

    /// The case's name in the style of column names, such as `created_at`.
    package var columnName: String {
        let name = "\(self)"
        // An underscore is only inserted between a lowercase and an uppercase letter: `userID`
        // becomes `user_id`.
        return zip(" \(name)", name).reduce(into: "") { column, letters in
            if letters.1.isUppercase, letters.0.isLowercase { column += "_" }
            column += letters.1.lowercased()
        }
    }

    /// The columns for a `select`.
    package static var list: String { self.allCases.map { $0.sql }.joined(separator: ", ") }
}

/// A row of either kind of database, whose columns have numbers from 0 on.
///
/// A row of PostgreSQL throws if the column has another type, or is null although the caller
/// allows no null. A row of SQLite converts the value: null becomes 0 or empty.
package protocol StoredRow: ~Copyable {
    /// The number of the column with a name. Throws if the row has no such column.
    func position(of name: String) throws -> Int32
    func integer(_ column: Int32) throws -> Int64
    func optionalInteger(_ column: Int32) throws -> Int64?
    func flag(_ column: Int32) throws -> Bool
    func text(_ column: Int32) throws -> String
    func optionalText(_ column: Int32) throws -> String?
    func data(_ column: Int32) throws -> Data
    func optionalData(_ column: Int32) throws -> Data?
    func bytes(_ column: Int32) throws -> [UInt8]
}

/// The functions that read a column. Without an argument, they read the only column of a row.
///
/// The compiler inserts them into the decoders. So a decoder, which does not know the type of its
/// row, passes the row only a number.
extension StoredRow where Self: ~Copyable {
    @inline(__always)
    package func integer(_ column: some ColumnReference = OnlyColumn()) throws -> Int64 {
        try self.integer(column.position(in: self))
    }

    @inline(__always)
    package func optionalInteger(_ column: some ColumnReference = OnlyColumn()) throws -> Int64? {
        try self.optionalInteger(column.position(in: self))
    }

    @inline(__always)
    package func date(_ column: some ColumnReference = OnlyColumn()) throws -> Date {
        Date(milliseconds: try self.integer(column.position(in: self)))
    }

    @inline(__always)
    package func optionalDate(_ column: some ColumnReference = OnlyColumn()) throws -> Date? {
        try self.optionalInteger(column.position(in: self)).map(Date.init(milliseconds:))
    }

    @inline(__always)
    package func flag(_ column: some ColumnReference = OnlyColumn()) throws -> Bool {
        try self.flag(column.position(in: self))
    }

    @inline(__always)
    package func text(_ column: some ColumnReference = OnlyColumn()) throws -> String {
        try self.text(column.position(in: self))
    }

    @inline(__always)
    package func optionalText(_ column: some ColumnReference = OnlyColumn()) throws -> String? {
        try self.optionalText(column.position(in: self))
    }

    @inline(__always)
    package func data(_ column: some ColumnReference = OnlyColumn()) throws -> Data {
        try self.data(column.position(in: self))
    }

    @inline(__always)
    package func optionalData(_ column: some ColumnReference = OnlyColumn()) throws -> Data? {
        try self.optionalData(column.position(in: self))
    }

    @inline(__always)
    package func bytes(_ column: some ColumnReference = OnlyColumn()) throws -> [UInt8] {
        try self.bytes(column.position(in: self))
    }
}
