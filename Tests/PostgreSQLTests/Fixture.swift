import Foundation
import PostgreSQL
import PushTesting
import Reactor
import Synchronization

/// A pool of connections with its own database and its own event loop.
struct Fixture: Sendable {
    let address: DatabaseAddress
    let loop: EventLoop
    let pool: ConnectionPool

    /// Opens a second connection, with which the test disturbs the pool, for example by locks.
    func other() throws -> BlockingConnection { try BlockingConnection(self.address) }

    /// Returns the number of the pool's connections that are in a transaction.
    func openTransactions() throws -> Int64? {
        try self.other().query(
            """
            select count(*) from pg_stat_activity
            where datname = current_database() and state like 'idle in transaction%'
            """
        ).first?.integer(0)
    }

    /// Repeats a query until the pool reports these words about an unusable server. With short
    /// timeouts, the pool may report a timeout first.
    func expectUnavailable(_ words: String...) async throws {
        try await eventually {
            let error = await failure { _ = try await self.pool.query("select 1") }
            return words.allSatisfy { error?.description.contains($0) == true }
        }
    }

    /// Selects the id of the server process whose connection runs the statement.
    static let pid = "select pg_backend_pid()::int8"
}

/// Runs `body` with a pool of connections, on the pool's event loop.
func withPool<Value: Sendable>(
    _ schema: String = "",
    _ options: PoolOptions = .longTimeouts,
    at change: @Sendable (DatabaseAddress) throws -> DatabaseAddress = { $0 },
    _ body: @Sendable (Fixture) async throws -> Value
) async throws -> Value {
    let address = try PostgreSQLCluster.shared.newDatabase()
    if !schema.isEmpty { try BlockingConnection(address).execute(schema) }
    let loop = try EventLoop(index: 0)
    let pool = ConnectionPool(try change(address), options, on: loop)
    let fixture = Fixture(address: address, loop: loop, pool: pool)
    let result: Result<Value, any Error>
    do {
        result = .success(try await withTaskExecutorPreference(loop) { try await body(fixture) })
    } catch {
        result = .failure(error)
    }
    await pool.close()
    loop.stop()
    try PostgreSQLCluster.shared.drop(address)
    return try result.get()
}

extension PoolOptions {
    /// Short timeouts, for tests of what the pool does after a timeout. On a busy machine even the
    /// first statement may time out.
    static var shortTimeouts: PoolOptions {
        var options = PoolOptions()
        options.readers = 1
        options.readLimit = .milliseconds(500)
        options.silenceLimit = .milliseconds(1000)
        options.writeLimit = .milliseconds(1000)
        return options
    }
}

/// Returns the error that `body` throws.
func failure(_ body: () async throws -> Void) async -> DatabaseError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? DatabaseError
    }
}

extension DatabaseError {
    var isUnavailable: Bool {
        if case .unavailable = self { true } else { false }
    }

    var isUnknown: Bool {
        if case .unknownOutcome = self { true } else { false }
    }
}

/// A number that several tasks change.
final class Counter: Sendable {
    private let number = Atomic<Int64>(0)

    var value: Int64 { self.number.load(ordering: .sequentiallyConsistent) }

    func set(_ value: Int64) {
        self.number.store(value, ordering: .sequentiallyConsistent)
    }

    /// Adds 1 and returns the new value.
    @discardableResult
    func increment() -> Int64 {
        self.number.add(1, ordering: .sequentiallyConsistent).newValue
    }
}
