internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Synchronization

extension PostgreSQLStore {
    /// The maximum number of runs of one transaction. It runs again if another server has taken
    /// over its hash chain of the audit.
    private static let maximumRuns = 4

    /// Runs a transaction that writes; runs it again after a serialization failure. Throws
    /// `StoreError`.
    ///
    /// If `body` throws an error that is not the database's, rethrows that error. If the
    /// transaction ends credentials, this function returns only when all servers have evicted them
    /// from their caches.
    func write<Value: Sendable>(
        _ traits: TransactionTraits = [],
        _ body: @Sendable (WriteTransaction) async throws -> Value
    ) async throws -> Value {
        try await self.measuringCommit { try await self.writeUnmeasured(traits, body) }
    }

    /// Runs one caller's write, and records a span for it.
    func measuringCommit<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        let span = self.options.spans?.beginCommit()
        defer { if let span { self.options.spans?.endCommit(span, of: "postgresql") } }
        return try await body()
    }

    /// Like `write`, but without a span: for a transaction that stores the writes of several
    /// callers.
    func writeUnmeasured<Value: Sendable>(
        _ traits: TransactionTraits = [],
        _ body: @Sendable (WriteTransaction) async throws -> Value
    ) async throws -> Value {
        let (value, epoch) = try await self.store(traits, body)
        if let epoch { try await self.membership.awaitEnd(epoch, atMost: self.options.writeTimeout) }
        return value
    }

    // MARK: - Private

    private func store<Value: Sendable>(
        _ traits: TransactionTraits,
        _ body: @Sendable (WriteTransaction) async throws -> Value
    ) async throws -> (Value, epoch: Int64?) {
        self.condition.waiting.wrappingAdd(1, ordering: .relaxed)
        let loan = SlotLoan(self.slots)
        defer {
            loan.end()
            self.condition.waiting.wrappingSubtract(1, ordering: .relaxed)
        }
        var runs = 1
        while true {
            do {
                return try await self.run(traits, loan, body)
            } catch is AuditChainLost where runs < Self.maximumRuns {
                loan.forgetHead()
                runs += 1
            } catch {
                // It is now unknown whether the audit's hash chain has a new end.
                if case DatabaseError.unknownOutcome = error { loan.forgetHead() }
                guard let failure = StoreError(reading: error) else { throw error }
                if case .full = failure { self.condition.shared.record(isFull: true) }
                // A data key that this server lacks was reported, and is no fault of the database.
                if self.keys.lack == nil { self.condition.shared.record(failure) }
                throw failure
            }
        }
    }

    /// Runs the transaction until it is committed; a conflict makes it run again.
    private func run<Value: Sendable>(
        _ traits: TransactionTraits,
        _ loan: SlotLoan,
        _ body: @Sendable (WriteTransaction) async throws -> Value
    ) async throws -> (Value, epoch: Int64?) {
        let server = self.membership.number
        let (value, finished) = try await self.database.transaction(traits) { transaction in
            let tx = WriteTransaction(transaction, of: self)
            let value = try await body(tx)
            let finished = try await tx.finish(loan.slot, server: server) {
                // The request may have waited so long that its caller's credentials have ended.
                if let term = CredentialLease.admission { try self.membership.lease.check(term) }
            }
            return (value, finished)
        }
        self.condition.shared.recordCommit(of: finished.pending.writes, after: .now - finished.commitBegan)
        if let head = finished.head { loan.slot.head = head }
        self.condition.shared.record(isFull: false)
        for call in finished.pending.calls { call() }
        self.membership.announce(workIn: finished.pending.tally.filled)
        return (value, finished.epoch)
    }
}
