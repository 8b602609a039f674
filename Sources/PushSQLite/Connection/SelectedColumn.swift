internal import Foundation

/// The columns of a query, in the order in which it selects them.
///
/// Reading a column by its case cannot read another one: `list` has the columns in the order of
/// the cases.
protocol SelectedColumn: CaseIterable, RawRepresentable<Int32> {
    var sql: String { get }
}

extension SelectedColumn {
    /// The columns for a `select`.
    static var list: String { self.allCases.map(\.sql).joined(separator: ", ") }
}

extension DirectRow {
    func integer(_ column: some SelectedColumn) -> Int64 { self.integer(column.rawValue) }

    func flag(_ column: some SelectedColumn) -> Bool { self.integer(column.rawValue) != 0 }

    func isNull(_ column: some SelectedColumn) -> Bool { self.isNull(column.rawValue) }

    /// `nil` if the column is null.
    func date(_ column: some SelectedColumn) -> Date? { self.date(column.rawValue) }

    /// Empty if the column is null.
    func text(_ column: some SelectedColumn) -> String { self.text(column.rawValue) }

    /// `nil` if the column is null.
    func optionalText(_ column: some SelectedColumn) -> String? { self.optionalText(column.rawValue) }

    /// A copy, which outlives the row.
    func bytes(_ column: some SelectedColumn) -> [UInt8] { self.bytes(column.rawValue) }

    /// A copy, which outlives the row.
    func data(_ column: some SelectedColumn) -> Data { self.data(column.rawValue) }
}
