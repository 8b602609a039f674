package import Foundation
package import PostgreSQL
package import PushStore

extension Row: StoredRow {
    package func integer(_ column: some SelectedColumn) throws -> Int64 { try self.integer(Int(column.rawValue)) }

    package func optionalInteger(_ column: some SelectedColumn) throws -> Int64? {
        try self.optionalInteger(Int(column.rawValue))
    }

    package func flag(_ column: some SelectedColumn) throws -> Bool { try self.boolean(Int(column.rawValue)) }

    package func text(_ column: some SelectedColumn) throws -> String { try self.text(Int(column.rawValue)) }

    package func optionalText(_ column: some SelectedColumn) throws -> String? {
        try self.optionalText(Int(column.rawValue))
    }

    package func data(_ column: some SelectedColumn) throws -> Data { try self.data(Int(column.rawValue)) }

    package func bytes(_ column: some SelectedColumn) throws -> [UInt8] { Array(try self.data(column)) }

    package func optionalData(_ column: some SelectedColumn) throws -> Data? {
        try self.optionalData(Int(column.rawValue))
    }
}
