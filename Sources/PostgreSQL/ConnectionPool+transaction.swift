internal import Reactor

extension ConnectionPool {
    /// The maximum number of times that a transaction runs.
    private static let maximumRuns = 10

    /// Runs a transaction at the isolation level read committed, on a connection that no other
    /// caller uses meanwhile.
    ///
    /// `body` runs again, from its beginning, after a serialization failure, a deadlock (40001,
    /// 40P01) or a lock timeout (55P03, 57014). It also runs again if a connection was lost before
    /// the commit. So `body` must have no effects outside the transaction. If `body` throws, the
    /// pool rolls the transaction back and rethrows the error.
    ///
    /// Throws `busy` or `unavailable` if no connection is free within `PoolOptions.writeLimit`;
    /// after this time no run begins. Throws `unknownOutcome` if a commit was sent but not
    /// confirmed.
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
            let (result, failure) = try await self.run(traits, isRepeat: runs > 1, until: deadline, body)
            guard let failure else { return try result.get() }
            // If a migration has made a statement's plan stale, the next run prepares that
            // statement again. This happens only once in a transaction.
            let isStale = failure.isStalePlan && !hasPreparedAnew
            hasPreparedAnew = hasPreparedAnew || isStale
            guard
                failure.isConflict || failure.isLostConnection || isStale, runs < Self.maximumRuns,
                !Task.isCancelled, ContinuousClock.now < deadline
            else {
                // If a pooler shares the session, the server may have skipped the statement whose
                // error `body` threw.
                if case .unusable = failure { throw failure }
                // If `body` itself threw an error, this line rethrows that error instead of
                // `failure`.
                _ = try result.get()
                throw failure
            }
            let connections = self.connections
            self.loop.execute { connections.retries += 1 }
            // If the task is cancelled, this sleep ends early, and at most one more run follows.
            try? await Task.sleep(for: isStale ? .zero : backoff.next(), clock: .continuous)
        }
    }

    // MARK: - Private

    /// Runs `body` once. If `failure` is not `nil`, the database failed, and nothing is stored.
    private func run<Value: Sendable>(
        _ traits: TransactionTraits,
        isRepeat: Bool,
        until deadline: ContinuousClock.Instant,
        _ body: @Sendable (Transaction) async throws -> Value
    ) async throws -> (result: Result<Value, any Error>, failure: DatabaseError?) {
        let connections = self.connections
        let session = try await self.loop.outcome { connections.writers.borrow(until: deadline, $0) }.get()
        let transaction = Transaction(session, on: self.loop, traits, isRepeat: isRepeat)
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
