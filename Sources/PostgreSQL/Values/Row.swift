internal import CPostgreSQL
package import Foundation

/// One row of a result. Its functions throw `DatabaseError.badColumn` if the column has another
/// type than requested, or is null although the caller allows no null.
package struct Row: Sendable {
    let rows: Rows
    let index: Int

    /// The number of the column with a name.
    package func position(of name: String) throws(DatabaseError) -> Int32 {
        let found = name.withCString { name in
            (0..<Int32(self.rows.columns)).first { strcmp(PQfname(self.rows.result, $0), name) == 0 }
        }
        guard let found else { throw .noColumn(name) }
        return found
    }

    /// Whether the column is null; also `true` if there is no such column.
    package func isNull(_ column: Int32) -> Bool {
        !self.has(column) || PQgetisnull(self.rows.result, Int32(self.index), column) != 0
    }

    package func integer(_ column: Int32) throws(DatabaseError) -> Int64 {
        try Self.present(self.optionalInteger(column), column)
    }

    package func optionalInteger(_ column: Int32) throws(DatabaseError) -> Int64? {
        guard let bytes = try self.bytes(column, of: Int64.typeNumber) else { return nil }
        guard bytes.count == 8 else { throw .badColumn(column) }
        return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    }

    package func boolean(_ column: Int32) throws(DatabaseError) -> Bool {
        try Self.present(self.optionalBoolean(column), column)
    }

    package func optionalBoolean(_ column: Int32) throws(DatabaseError) -> Bool? {
        guard let bytes = try self.bytes(column, of: Bool.typeNumber) else { return nil }
        guard bytes.count == 1 else { throw .badColumn(column) }
        return bytes[0] != 0
    }

    package func text(_ column: Int32) throws(DatabaseError) -> String {
        try Self.present(self.optionalText(column), column)
    }

    package func optionalText(_ column: Int32) throws(DatabaseError) -> String? {
        guard let bytes = try self.bytes(column, of: String.typeNumber) else { return nil }
        // PostgreSQL converts text of other encodings to UTF-8, but not text of a database with
        // the encoding `SQL_ASCII`.
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .badColumn(column) }
        return text
    }

    package func data(_ column: Int32) throws(DatabaseError) -> Data {
        try Self.present(self.optionalData(column), column)
    }

    package func optionalData(_ column: Int32) throws(DatabaseError) -> Data? {
        try self.bytes(column, of: Data.typeNumber).map { Data($0) }
    }

    // MARK: - Private

    private func has(_ column: Int32) -> Bool {
        // The bounds are checked here: for an index out of range, libpq would call the
        // connection's notice receiver, which may no longer exist.
        column >= 0 && column < self.rows.columns && self.index >= 0 && self.index < self.rows.count
    }

    /// The bytes of the value, which live as long as the rows; `nil` for SQL's null.
    private func bytes(_ column: Int32, of type: UInt32) throws(DatabaseError) -> UnsafeRawBufferPointer? {
        let result = self.rows.result
        guard
            self.has(column), PQftype(result, column) == type, self.rows.isBinary
        else { throw .badColumn(column) }
        guard PQgetisnull(result, Int32(self.index), column) == 0 else { return nil }
        let length = Int(PQgetlength(result, Int32(self.index), column))
        return UnsafeRawBufferPointer(start: PQgetvalue(result, Int32(self.index), column), count: length)
    }

    private static func present<Value>(_ value: Value?, _ column: Int32) throws(DatabaseError) -> Value {
        guard let value else { throw .badColumn(column) }
        return value
    }
}
