package import Reactor

/// The connections of one process to one database.
package final class ConnectionPool: Sendable {
    package init(_ address: DatabaseAddress, _ options: PoolOptions, on loop: EventLoop) { fatalError() }

    /// Runs one statement that only reads, or that may run twice; it shares a pipelined connection with others.
    package func query(_ sql: String, _ values: any Bindable...) async throws(DatabaseError) -> Rows { fatalError() }

    /// Runs a transaction on a connection of its own; read committed.
    ///
    /// `body` runs again, from its beginning, after a serialization failure or a deadlock (40001, 40P01): it must have no other
    /// effects. If `body` throws, the transaction is rolled back and the error is rethrown.
    package func transaction<Value: Sendable>(
        _ body: @Sendable (Transaction) async throws -> Value
    ) async throws -> Value { fatalError() }

    /// Ends the connections after what was submitted.
    package func close() async { fatalError() }
}

/// A transaction under way.
package final class Transaction: Sendable {
    package func query(_ sql: String, _ values: any Bindable...) async throws(DatabaseError) -> Rows { fatalError() }
    init() {}
}

package struct PoolOptions: Sendable {
    /// Connections for transactions.
    package var writers = 8
    package init() {}
}
