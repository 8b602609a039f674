internal import Reactor

extension ConnectionPool {
    /// As `query` does it, from where nothing can be awaited, such as a loop's timer. `completion` is called once, on the pool's
    /// loop unless that has ended.
    package func submit(
        _ sql: String,
        values: [any Bindable],
        then completion: @escaping @Sendable (Result<Rows, DatabaseError>) -> Void
    ) {
        let statement: Statement
        do throws(DatabaseError) {
            statement = try Statement(sql, values)
        } catch {
            return completion(.failure(error))
        }
        let connections = self.connections
        let isTaken = self.loop.execute {
            connections.submit(Request(statement, countsAtSync: !statement.onlyReads, completion: completion))
        }
        if !isTaken { completion(.failure(.unavailable(reason: "the event loop has ended"))) }
    }
}
