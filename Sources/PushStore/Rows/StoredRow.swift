package import Foundation
internal import PushCore

/// The columns of a query, in the order of its `select`.
///
/// A case always reads its own column, because `list` has the columns in the order of the cases.
package protocol SelectedColumn: CaseIterable, RawRepresentable<Int32> {
    /// The column, or the expression that computes it, as a query selects it.
    var sql: String { get }
}

extension SelectedColumn {
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
    func integer(_ column: Int32) throws -> Int64
    func optionalInteger(_ column: Int32) throws -> Int64?
    func flag(_ column: Int32) throws -> Bool
    func text(_ column: Int32) throws -> String
    func optionalText(_ column: Int32) throws -> String?
    func data(_ column: Int32) throws -> Data
    func optionalData(_ column: Int32) throws -> Data?
    func bytes(_ column: Int32) throws -> [UInt8]
}

/// The functions with which a decoder reads the columns of a `SelectedColumn`.
///
/// The compiler inserts them into the decoders. So a decoder, which does not know the type of its
/// row, passes the row only a number.
extension StoredRow where Self: ~Copyable {
    @inline(__always)
    package func integer(_ column: some SelectedColumn) throws -> Int64 { try self.integer(column.rawValue) }

    @inline(__always)
    package func optionalInteger(_ column: some SelectedColumn) throws -> Int64? {
        try self.optionalInteger(column.rawValue)
    }

    @inline(__always)
    package func date(_ column: some SelectedColumn) throws -> Date {
        try Date(milliseconds: self.integer(column.rawValue))
    }

    @inline(__always)
    package func optionalDate(_ column: some SelectedColumn) throws -> Date? {
        try self.optionalInteger(column.rawValue).map(Date.init(milliseconds:))
    }

    @inline(__always)
    package func flag(_ column: some SelectedColumn) throws -> Bool { try self.flag(column.rawValue) }

    @inline(__always)
    package func text(_ column: some SelectedColumn) throws -> String { try self.text(column.rawValue) }

    @inline(__always)
    package func optionalText(_ column: some SelectedColumn) throws -> String? {
        try self.optionalText(column.rawValue)
    }

    @inline(__always)
    package func data(_ column: some SelectedColumn) throws -> Data { try self.data(column.rawValue) }

    @inline(__always)
    package func optionalData(_ column: some SelectedColumn) throws -> Data? { try self.optionalData(column.rawValue) }

    @inline(__always)
    package func bytes(_ column: some SelectedColumn) throws -> [UInt8] { try self.bytes(column.rawValue) }
}
