package import Reactor

/// The connections of one process to one database.
///
/// ```swift
/// let pool = ConnectionPool(address, PoolOptions(), on: loop)
/// let rows = try await pool.query("select name from account where user_id = $1", id)
/// try await pool.transaction { try await $0.query("delete from device where user_id = $1", id) }
/// await pool.close()
/// ```
/// The pool opens connections when they are first needed. It never connects to a server of another
/// cluster, or to a server on an older timeline than the pool has used. `newest` is the cluster
/// and timeline that an earlier pool has used.
///
/// Calls cost least from tasks on the pool's event loop. If a task is cancelled, its statement is
/// still completed: the time of a statement is limited anyway.
///
/// The caller must call `close()` before it stops the event loop.
package final class ConnectionPool: Sendable {
    let loop: EventLoop
    let options: PoolOptions
    let connections: Connections
    private let cluster: ClusterGuard

    /// Calls `onEvent` on the event loop. The event `advanced` comes before the first statement on
    /// the newer timeline.
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
        // If the loop's thread has ended, no other thread can use the connections, so the current
        // thread may close them.
        if !self.loop.execute({ connections.close() }) { connections.close() }
    }

    /// Runs one statement that only reads, or that may run twice. The statement shares a pipelined
    /// connection with statements of other callers.
    ///
    /// If the connection is lost, sends the statement once more. Throws `unavailable` after
    /// `PoolOptions.readLimit`, or after twice that time if the statement was sent again. Throws
    /// `busy` if too many statements wait.
    package func query(_ sql: String, _ values: any Bindable...) async throws(DatabaseError) -> Rows {
        try await self.query(sql, values: values)
    }

    /// Runs a statement with the parameters in `values`.
    package func query(_ sql: String, values: [any Bindable]) async throws(DatabaseError) -> Rows {
        let statement = try Statement(sql, values: values)
        let connections = self.connections
        return try await self.loop.outcome { completion in
            connections.submit(Request(statement, countsAtSync: !statement.onlyReads, completion: completion))
        }.get()
    }

    /// Numbers that describe the pool's present state and its past work.
    package func counters() async -> PoolCounters {
        let connections = self.connections
        return await self.loop.value { connections.counters } ?? PoolCounters()
    }

    /// Closes the connections once the submitted work is done. Statements that come later fail
    /// with `unavailable`.
    package func close() async {
        let connections = self.connections
        let _: Result<Bool, DatabaseError> = await self.loop.outcome { completion in
            connections.drain { completion(.success(true)) }
        }
    }
}
