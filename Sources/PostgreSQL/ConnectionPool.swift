package import Reactor

/// The connections of one process to one database.
///
/// ```swift
/// let pool = ConnectionPool(address, PoolOptions(), on: loop)
/// let rows = try await pool.query("select name from account where user_id = $1", id)
/// try await pool.transaction { try await $0.query("delete from device where user_id = $1", id) }
/// await pool.close()
/// ```
/// Opens connections when they are first needed. Never connects to a server of another cluster, or
/// of an older timeline than the pool has used. `newest` is the identity from an earlier use of
/// the database, and counts as used.
///
/// Calls cost least from tasks on the pool's loop. If a task is cancelled, the pool still
/// completes its statement: the statement's time is limited anyway.
///
/// The caller must `close()` it before it stops its loop.
package final class ConnectionPool: Sendable {
    let loop: EventLoop
    let options: PoolOptions
    let connections: Connections
    private let cluster: ClusterGuard

    /// Calls `onEvent` on the loop; `advanced` comes before the first statement on the newer
    /// timeline.
    package init(
        _ address: DatabaseAddress,
        _ options: PoolOptions,
        on loop: EventLoop,
        after newest: ClusterIdentity? = nil,
        onEvent: @escaping @Sendable (ClusterEvent) -> Void = { _ in }
    ) {
        self.loop = loop
        self.options = options
        self.cluster = ClusterGuard(newest: newest, onEvent: onEvent)
        self.connections = Connections(address, options, on: loop, self.cluster)
    }

    /// The reason why the pool refuses the database; `nil` if it does not.
    package var fault: ClusterFault? { self.cluster.fault }

    deinit {
        let connections = self.connections
        // If the loop's thread has ended, no other thread can use the connections, so this thread
        // may close them.
        if !self.loop.execute({ connections.close() }) { connections.close() }
    }

    /// Runs one statement that only reads, or that may run twice; it shares a pipelined connection
    /// with other statements.
    ///
    /// Sends the statement again once if its connection is lost. Throws `unavailable` at
    /// `PoolOptions.readLimit`, or at twice that if it was sent again. Throws `busy` if too many
    /// statements wait.
    package func query(_ sql: String, _ values: any Bindable...) async throws(DatabaseError) -> Rows {
        try await self.query(sql, values: values)
    }

    /// Runs a statement whose values are in an array.
    package func query(_ sql: String, values: [any Bindable]) async throws(DatabaseError) -> Rows {
        let statement = try Statement(sql, values: values)
        let connections = self.connections
        return try await self.loop.outcome { completion in
            connections.submit(Request(statement, countsAtSync: !statement.onlyReads, completion: completion))
        }.get()
    }

    /// The pool's present state and past work, in figures.
    package func counters() async -> PoolCounters {
        let connections = self.connections
        return await self.loop.value { connections.counters } ?? PoolCounters()
    }

    /// Closes the connections after the work that was submitted; later statements fail with
    /// `unavailable`.
    package func close() async {
        let connections = self.connections
        let _: Result<Bool, DatabaseError> = await self.loop.outcome { completion in
            connections.drain { completion(.success(true)) }
        }
    }
}
