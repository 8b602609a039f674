internal import Reactor

/// The control connection: an additional connection for a few small statements that must not wait
/// for other statements, and for messages between processes. It is opened with its first
/// statement.
extension ConnectionPool {
    /// Runs one statement on the control connection; the statement may run twice. Calls
    /// `completion` once: on the pool's event loop, or on another thread if the values are too
    /// large or the loop has ended.
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
            // Each statement is a transaction of its own. So the failure of another statement
            // neither undoes nor delays it.
            request.isAlone = true
            connections.submitControl(request)
        }
        if !isTaken { completion(.failure(.unavailable(reason: "the event loop has ended"))) }
    }

    /// Calls `body` on the event loop with each message that a process sends by `pg_notify`.
    /// `statement` is a `listen` with the channel. Messages are missed while the connection is not
    /// open.
    package func listen(_ statement: StaticString, _ body: @escaping @Sendable (String) -> Void) {
        let connections = self.connections
        self.loop.execute {
            connections.listen(Listening(statement: Statement(fixed: statement), onMessage: body))
        }
    }
}
