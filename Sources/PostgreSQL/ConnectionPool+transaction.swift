internal import Reactor

extension ConnectionPool {
    /// The most times that a transaction runs.
    private static let maximumRuns = 10

    /// Runs a transaction on a connection of its own; read committed.
    ///
    /// `body` runs again, from its beginning, after a serialization failure or a deadlock (40001, 40P01), when a lock was not
    /// free in time (55P03, 57014), and when a connection was lost before the commit: it must have no other effects. If `body`
    /// throws, the transaction is rolled back and the error is rethrown. Throws `busy` or `unavailable` if there is no connection within `PoolOptions.writeLimit`,
    /// after which no run begins; and `unknownOutcome` if a commit was sent and not confirmed.
    package func transaction<Value: Sendable>(
        _ traits: TransactionTraits = [],
        _ body: @Sendable (Transaction) async throws -> Value
    ) async throws -> Value {
        let deadline = ContinuousClock.now + self.options.writeLimit
        var backoff = Backoff(first: .milliseconds(10), longest: .milliseconds(500))
        var runs = 0
        var hasPreparedAnew = false
        while true {
            runs += 1
            let (result, failure) = try await self.run(traits, until: deadline, body)
            guard let failure else { return try result.get() }
            // A statement that a migration has made stale is prepared anew, once.
            let isStale = failure.isStalePlan && !hasPreparedAnew
            hasPreparedAnew = hasPreparedAnew || isStale
            guard
                failure.isConflict || failure.isLostConnection || isStale, runs < Self.maximumRuns,
                !Task.isCancelled, ContinuousClock.now < deadline
            else {
                // What the body made of the failure, if it threw.
                _ = try result.get()
                throw failure
            }
            let connections = self.connections
            self.loop.execute { connections.retries += 1 }
            // Cut short by a cancellation, after which there is one run more at most.
            try? await Task.sleep(for: isStale ? .zero : backoff.next(), clock: .continuous)
        }
    }

    // MARK: - Private

    /// Runs the body once. `failure`: nothing is stored, for a reason of the database's.
    private func run<Value: Sendable>(
        _ traits: TransactionTraits,
        until deadline: ContinuousClock.Instant,
        _ body: @Sendable (Transaction) async throws -> Value
    ) async throws -> (result: Result<Value, any Error>, failure: DatabaseError?) {
        let connections = self.connections
        let session = try await self.loop.outcome { connections.writers.borrow(until: deadline, $0) }.get()
        let transaction = Transaction(session, on: self.loop, traits)
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(transaction))
        } catch {
            result = .failure(error)
        }
        let isSuccess = if case .success = result { true } else { false }
        let (ending, failure) = await transaction.end(commits: isSuccess) { connections.writers.giveBack(session) }
        switch ending {
        case .committed: return (result, nil)
        case .rolledBack: return (result, failure)
        case .refused(let error): return (result, error)
        case .unknown(let reason): throw DatabaseError.unknownOutcome(reason: reason)
        }
    }
}
