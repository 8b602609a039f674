internal import Foundation
package import PushCore

extension SealedAuditEntry {
    /// The columns of an entry, in the order that queries use.
    package enum Column: Int32, SelectedColumn {
        case number, at, entry, link
    }

    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        self.init(
            at: try row.integer(Column.at),
            entry: try row.data(Column.entry),
            link: AuditLink(number: try row.integer(Column.number), code: try row.data(Column.link))
        )
    }
}
