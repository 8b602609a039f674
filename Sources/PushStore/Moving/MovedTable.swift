package import Foundation

/// A table that a move fills, with its columns in the target. The columns of its key come first.
///
/// The source returns the rows in the order of this key. It converts values that the two kinds of
/// stores represent differently.
package struct MovedTable: Sendable {
    /// The names of the tables, in the order of the move. The target has their columns.
    package static let names = [
        "data_key", "index_secret", "account", "user_change", "user_tag", "token", "device", "device_tag",
        "device_push", "confirmation", "notification", "recipient", "untaken", "usage", "idempotency", "scheduled",
        "fanout", "push", "push_end", "collapse", "tally", "audit", "audit_chain", "event", "event_state",
    ]

    /// Tables that already have rows if a server was started on the empty target, even if the
    /// server has stored nothing. A move first deletes these rows.
    package static let ofEmptyStores: Set<String> = ["data_key", "index_secret", "event", "event_state"]

    package struct Column: Sendable {
        package let name: String
        package let kind: MovedValue.Kind

        package init(name: String, kind: MovedValue.Kind) {
            (self.name, self.kind) = (name, kind)
        }
    }

    package let name: String
    package let columns: [Column]
    /// The number of columns in the key. These are the first columns of the table.
    package let keyLength: Int

    package init(_ name: String, _ columns: [Column], keyLength: Int) {
        (self.name, self.columns, self.keyLength) = (name, columns, keyLength)
    }

    package var key: ArraySlice<Column> { self.columns.prefix(self.keyLength) }

    /// The maximum number of rows in one read or write. A page of notifications has few rows,
    /// since one payload may have 1 MiB.
    package var pageRows: Int { self.name == "notification" ? 250 : 2000 }
}

/// A value of a row that moves from one kind of store to another.
package enum MovedValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case boolean(Bool)
    case text(String)
    case bytes(Data)

    /// The types of columns, with their names in PostgreSQL. A column of any type may also be
    /// null.
    package enum Kind: String, Sendable {
        case integer = "bigint"
        case boolean, text
        case bytes = "bytea"
    }
}

/// A column whose numbers the database assigns, each of them once.
package enum NumberedColumn: String, Sendable, Hashable, CaseIterable {
    case account, device

    package var table: String { self.rawValue }
    package var column: String { self == .account ? "id" : "number" }
}

/// The values of a row, in the order of the table's columns.
package typealias MovedRow = [MovedValue]
