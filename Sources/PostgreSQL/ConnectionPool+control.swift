internal import Reactor

/// The control connection: one more connection, for a few small statements that must not wait
/// behind others, and for messages between processes. It is opened with its first statement.
extension ConnectionPool {
    /// Runs one statement, which may run twice, on the control connection. Calls `completion`
    /// once, on the pool's loop unless that has ended.
    package func control(
        _ sql: String,
        _ values: any Bindable...,
        then completion: @escaping @Sendable (Result<Rows, DatabaseError>) -> Void
    ) {
        let statement: Statement
        do throws(DatabaseError) {
            statement = try Statement(sql, values: values)
        } catch {
            return completion(.failure(error))
        }
        let connections = self.connections
        let isTaken = self.loop.execute {
            let request = Request(statement, countsAtSync: !statement.onlyReads, completion: completion)
            // Each statement is a transaction of its own, so that another one's failure neither
            // undoes nor delays it.
            request.isAlone = true
            connections.submitControl(request)
        }
        if !isTaken { completion(.failure(.unavailable(reason: "the event loop has ended"))) }
    }

    /// Calls `body` on the loop with the messages that processes send each other by `pg_notify`.
    /// Misses messages while the connection is not open. `statement` is `listen` with the channel.
    package func listen(_ statement: StaticString, _ body: @escaping @Sendable (String) -> Void) {
        let connections = self.connections
        self.loop.execute {
            connections.listen(Listening(statement: Statement(fixed: statement), onMessage: body))
        }
    }
}
