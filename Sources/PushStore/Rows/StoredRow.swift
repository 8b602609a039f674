package import Foundation

/// The columns of a query, in the order in which it selects them.
///
/// Reading a column by its case always reads that column: `list` has the columns in the order of
/// the cases.
package protocol SelectedColumn: CaseIterable, RawRepresentable<Int32> {
    /// The column, or the expression that computes it, as a query selects it.
    var sql: String { get }
}

extension SelectedColumn {
    /// The column whose name is the case's: `created_at` for the case `createdAt`.
    package var sql: String { self.columnName }

    /// The case's name as columns are named, such as `created_at`.
    package var columnName: String {
        "\(self)".reduce(into: "") { name, letter in
            if letter.isUppercase, name.last?.isLowercase == true { name += "_" }
            name += letter.lowercased()
        }
    }

    /// The columns for a `select`.
    package static var list: String { self.allCases.map { $0.sql }.joined(separator: ", ") }
}

/// A row of either database, whose columns a decoder reads by their cases.
///
/// PostgreSQL's rows throw for a column of another type, and for a null where none is allowed.
/// SQLite's rows convert the value: null is 0 or empty.
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
