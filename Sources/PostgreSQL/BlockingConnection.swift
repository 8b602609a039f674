/// A connection for commands and for the start of a server, which may wait. Belongs to one thread.
package final class BlockingConnection {
    /// Throws `DatabaseError.unavailable` if no host answers.
    package init(_ address: DatabaseAddress) throws(DatabaseError) { fatalError() }

    package func query(_ sql: String, _ values: any Bindable...) throws(DatabaseError) -> Rows { fatalError() }

    /// Runs several statements without parameters, such as a migration.
    package func execute(_ script: String) throws(DatabaseError) { fatalError() }

    /// Runs `body` between `begin` and `commit`.
    package func transaction<Value>(_ body: () throws -> Value) throws -> Value { fatalError() }
}
