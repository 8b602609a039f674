package import Foundation

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

/// A row of either kind of database. A decoder reads its columns by cases of `SelectedColumn`.
///
/// A row of PostgreSQL throws if the column has another type, or is null although the caller
/// allows no null. A row of SQLite converts the value: null becomes 0 or empty.
package protocol StoredRow: ~Copyable {
    func integer(_ column: some SelectedColumn) throws -> Int64
    func optionalInteger(_ column: some SelectedColumn) throws -> Int64?
    func flag(_ column: some SelectedColumn) throws -> Bool
    func text(_ column: some SelectedColumn) throws -> String
    func optionalText(_ column: some SelectedColumn) throws -> String?
    func data(_ column: some SelectedColumn) throws -> Data
    func bytes(_ column: some SelectedColumn) throws -> [UInt8]
    func optionalData(_ column: some SelectedColumn) throws -> Data?
}
