package import Foundation

/// The columns of a query, in the order in which it selects them.
///
/// Reading a column by its case always reads that column: `list` has the columns in the order of
/// the cases.
package protocol SelectedColumn: CaseIterable, RawRepresentable<Int32> {
    var sql: String { get }
}

extension SelectedColumn {
    /// The columns for a `select`.
    package static var list: String { self.allCases.map(\.sql).joined(separator: ", ") }
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
