package import Reactor

/// The connections of one process to one database.
///
/// ```swift
/// let pool = ConnectionPool(address, PoolOptions(), on: loop)
/// let rows = try await pool.query("select name from account where user_id = $1", id)
/// try await pool.transaction { try await $0.query("delete from device where user_id = $1", id) }
/// await pool.close()
/// ```
/// Opens connections when they are first needed; never to a server of another cluster or of an older timeline than it has used,
/// or than `newest`, which was used before.
/// Cheapest from tasks of its loop. What a cancelled task has asked for is carried through, as its time is limited anyway.
/// `close()` it before its loop is stopped.
package final class ConnectionPool: Sendable {
    let loop: EventLoop
    let options: PoolOptions
    let connections: Connections
    private let cluster: ClusterGuard

    /// `onEvent` is called on the loop, and `advanced` before the first statement on the newer timeline.
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

    /// Why the database is not used; `nil` unless it was turned down.
    package var fault: ClusterFault? { self.cluster.fault }

    deinit {
        let connections = self.connections
        // Without its loop's thread there is no other that could use them.
        if !self.loop.execute({ connections.close() }) { connections.close() }
    }

    /// Runs one statement that only reads, or that may run twice; it shares a pipelined connection with others.
    ///
    /// Sent again once if its connection is lost. Throws `unavailable` at `PoolOptions.readLimit`, or at twice that if it
    /// was sent again; `busy` if too many wait.
    package func query(_ sql: String, _ values: any Bindable...) async throws(DatabaseError) -> Rows {
        try await self.query(sql, values: values)
    }

    /// The same with the values in an array.
    package func query(_ sql: String, values: [any Bindable]) async throws(DatabaseError) -> Rows {
        let statement = try Statement(sql, values: values)
        let connections = self.connections
        return try await self.loop.outcome { completion in
            connections.submit(Request(statement, countsAtSync: !statement.onlyReads, completion: completion))
        }.get()
    }

    /// What the pool does at the moment, and has done so far.
    package func counters() async -> PoolCounters {
        let connections = self.connections
        return await self.loop.value { connections.counters } ?? PoolCounters()
    }

    /// Ends the connections after what was submitted; later statements fail with `unavailable`.
    package func close() async {
        let connections = self.connections
        let _: Result<Bool, DatabaseError> = await self.loop.outcome { completion in
            connections.drain { completion(.success(true)) }
        }
    }
}
