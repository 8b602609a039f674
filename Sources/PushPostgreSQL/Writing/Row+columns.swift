package import Foundation
package import PostgreSQL
internal import PushStore

extension Row: StoredRow {
    package func integer(_ column: Int32) throws -> Int64 { try self.integer(Int(column)) }
    package func optionalInteger(_ column: Int32) throws -> Int64? { try self.optionalInteger(Int(column)) }
    package func flag(_ column: Int32) throws -> Bool { try self.boolean(Int(column)) }
    package func text(_ column: Int32) throws -> String { try self.text(Int(column)) }
    package func optionalText(_ column: Int32) throws -> String? { try self.optionalText(Int(column)) }
    package func data(_ column: Int32) throws -> Data { try self.data(Int(column)) }
    package func optionalData(_ column: Int32) throws -> Data? { try self.optionalData(Int(column)) }
    package func bytes(_ column: Int32) throws -> [UInt8] { Array(try self.data(Int(column))) }
}
