package import Foundation

/// The rows that a statement returned, and how many it changed.
package final class Rows: Sendable {
    package var count: Int { fatalError() }
    /// How many rows an `insert`, `update` or `delete` changed.
    package var changed: Int { fatalError() }
    package var first: Row? { fatalError() }
    package subscript(_ index: Int) -> Row { fatalError() }

    package func map<Value>(_ body: (Row) throws -> Value) rethrows -> [Value] { fatalError() }
    package func compactMap<Value>(_ body: (Row) throws -> Value?) rethrows -> [Value] { fatalError() }

    init() {}
}

/// One row. A column of another type than is asked for, or a null where none is allowed, is a `DatabaseError.badColumn`.
package struct Row: Sendable {
    package func isNull(_ column: Int) -> Bool { fatalError() }
    package func integer(_ column: Int) throws(DatabaseError) -> Int64 { fatalError() }
    package func optionalInteger(_ column: Int) throws(DatabaseError) -> Int64? { fatalError() }
    package func boolean(_ column: Int) throws(DatabaseError) -> Bool { fatalError() }
    package func text(_ column: Int) throws(DatabaseError) -> String { fatalError() }
    package func optionalText(_ column: Int) throws(DatabaseError) -> String? { fatalError() }
    package func data(_ column: Int) throws(DatabaseError) -> Data { fatalError() }
    package func optionalData(_ column: Int) throws(DatabaseError) -> Data? { fatalError() }
}
