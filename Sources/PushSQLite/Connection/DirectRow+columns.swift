internal import Foundation
internal import PushStore
internal import SQLite

extension DirectRow: StoredRow {
    func integer(_ column: some SelectedColumn) -> Int64 { self.integer(column.rawValue) }

    func optionalInteger(_ column: some SelectedColumn) -> Int64? {
        self.isNull(column) ? nil : self.integer(column)
    }

    func flag(_ column: some SelectedColumn) -> Bool { self.integer(column.rawValue) != 0 }

    func isNull(_ column: some SelectedColumn) -> Bool { self.isNull(column.rawValue) }

    /// The time; `nil` if the column is null.
    func date(_ column: some SelectedColumn) -> Date? { self.date(column.rawValue) }

    /// The text; empty if the column is null.
    func text(_ column: some SelectedColumn) -> String { self.text(column.rawValue) }

    func optionalText(_ column: some SelectedColumn) -> String? { self.optionalText(column.rawValue) }

    /// A copy of the bytes, which outlives the row.
    func bytes(_ column: some SelectedColumn) -> [UInt8] { self.bytes(column.rawValue) }

    /// A copy of the bytes, which outlives the row.
    func data(_ column: some SelectedColumn) -> Data { self.data(column.rawValue) }

    func optionalData(_ column: some SelectedColumn) -> Data? { self.isNull(column) ? nil : self.data(column) }
}
