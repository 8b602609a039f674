package import Foundation

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

    /// The approximate number of bytes that the value takes in memory.
    var size: Int {
        switch self {
        case .null, .boolean, .integer: 8
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }
}

/// The values of a row, in the order of the table's columns.
package typealias MovedRow = [MovedValue]
