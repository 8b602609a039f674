internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Synchronization

/// A transaction that writes. It collects counts of pushes (tallies), events, ended credentials
/// and audit records, and writes them once, at its end.
///
/// All transactions lock rows in the same order, so that they do not deadlock. First come
/// accounts, counters of changes (`numbers`), devices and pushes. At the end come the epoch, the
/// tallies, the events and the audit's chain.
final class WriteTransaction: Sendable {
    /// The values that are written at the end of the transaction.
    struct Pending: Sendable {
        var tally = TallyCount()
        var drafts: [AuditDraft] = []
        var events: [NewEvent] = []
        var ends: [CredentialLease.End] = []
        var calls: [@Sendable () -> Void] = []
        var last: [Statement] = []
        var commitFailure: (@Sendable (DatabaseError) -> (any Error)?)?
        /// The number of callers whose writes this transaction stores.
        var writes = 1
    }

    private let transaction: Transaction
    private let kinds: Set<PushEvent.Kind>
    private let pending = Mutex(Pending())
    let audit: AuditChain
    let sealing: Sealing
    /// The lanes (queues of pushes) whose devices are reached only through event streams.
    let streamLanes: Set<String>

    init(_ transaction: Transaction, of store: PostgreSQLStore) {
        (self.transaction, self.audit, self.sealing) = (transaction, store.audit, store.sealing)
        (self.kinds, self.streamLanes) = (store.options.events, store.options.streamLanes)
    }

    /// Whether an earlier run of the same transaction has failed.
    var isRepeat: Bool { self.transaction.isRepeat }

    /// Runs a statement in the transaction.
    func query(_ sql: String, _ values: any Bindable...) async throws -> Rows {
        try await self.transaction.query(sql, values: values)
    }

    func query(_ sql: String, values: [any Bindable]) async throws -> Rows {
        try await self.transaction.query(sql, values: values)
    }

    /// Sends statements together: does not wait for the answer to one statement before it sends
    /// the next. Runs them in their order. Returns the rows of each statement.
    func query(all statements: [Statement]) async throws -> [Rows] { try await self.transaction.query(all: statements) }

    /// Runs a statement at the end of the transaction, together with other last statements. Its
    /// result is not read: a statement that must prevent the commit has to fail.
    func queryLast(_ statement: Statement) { self.pending.withLock { $0.last.append(statement) } }

    /// Sends the last statements and the commit in one message, so that locks are held only as
    /// long as the database needs. `body` converts the failure of a last statement to another
    /// error.
    ///
    /// If the connection is lost meanwhile, nobody knows whether the transaction is stored.
    func commitWithLastStatements(_ body: @escaping @Sendable (DatabaseError) -> (any Error)?) {
        self.pending.withLock { $0.commitFailure = body }
    }

    /// Counts pushes that have entered a state.
    func count(_ state: TallyState, lane: String, by count: Int = 1) {
        self.pending.withLock { $0.tally.add(state, lane: lane, by: count) }
    }

    func append(_ record: AuditRecord) {
        let draft = self.audit.draft(record)
        self.pending.withLock { $0.drafts.append(draft) }
    }

    /// Adds an event, if the store keeps events of its kind.
    func record(_ event: NewEvent) {
        guard self.keeps(event.kind) else { return }
        self.pending.withLock { $0.events.append(event) }
    }

    /// Whether the store keeps events of this kind. If so, the caller must read their values.
    func keeps(_ kind: PushEvent.Kind) -> Bool { self.kinds.contains(kind) }

    func share(among writes: Int) { self.pending.withLock { $0.writes = writes } }

    /// Ends credentials: `write` returns only when all servers have evicted them.
    func end(_ end: CredentialLease.End) { self.pending.withLock { $0.ends.append(end) } }

    func afterCommit(_ body: @escaping @Sendable () -> Void) { self.pending.withLock { $0.calls.append(body) } }

    /// Writes the collected values. Call it once, as the last step of the transaction. `admit`
    /// throws if the transaction must no longer be committed.
    func finish(_ slot: WriterSlot, server: Int64, admit: @Sendable () throws -> Void) async throws -> FinishedWrite {
        let pending = self.pending.withLock { $0 }
        var finished = FinishedWrite(pending: pending, epoch: try await self.write(pending.ends))
        var statements = pending.last
        if let counts = try pending.tally.addition(to: slot.tallyWriter(server: server)) { statements.append(counts) }
        if let events = try NewEvent.insertion(of: pending.events) { statements.append(events) }
        if !pending.drafts.isEmpty {
            let old = try await self.head(of: slot, server: server)
            let (end, statement) = try self.extending(old, by: pending.drafts)
            statements.append(statement)
            finished.head = end
        }
        do {
            if pending.commitFailure == nil { _ = try await self.query(all: statements) }
            try admit()
            finished.commitBegan = .now
            if pending.commitFailure != nil { _ = try await self.transaction.commit(after: statements) }
        } catch let error as DatabaseError {
            if error.code == Self.refusal { throw AuditChainLost() }
            throw pending.commitFailure?(error) ?? error
        }
        return finished
    }
}

/// The work that remains once the transaction is committed.
struct FinishedWrite: Sendable {
    let pending: WriteTransaction.Pending
    /// The number of the last credentials that this transaction has ended; `nil` if it has ended
    /// none.
    let epoch: Int64?
    /// The new end of the writer's hash chain of the audit; `nil` if the transaction has added no
    /// record.
    var head: AuditHead?
    /// The time when the commit was sent; if it was sent together with the last statements, the
    /// time when these were sent.
    var commitBegan = ContinuousClock.now
}

extension TallyCount {
    /// The lanes (providers' queues) that have got new pushes.
    var filled: Set<String> { Set(self.counts.keys.filter { $0.state == .enqueued }.map(\.lane)) }

    /// Adds the counted pushes to the rows of `tally` that belong to one writer; `nil` if nothing
    /// was counted.
    func addition(to writer: Int64) throws -> Statement? {
        let counts = self.counts.sorted { left, right in
            (left.key.lane, left.key.state.rawValue) < (right.key.lane, right.key.state.rawValue)
        }
        if counts.isEmpty { return nil }
        return try Statement(
            Self.newCounts,
            writer,
            counts.map(\.key.lane),
            counts.map(\.key.state.rawValue),
            counts.map(\.value)
        )
    }

    static let newCounts = """
        insert into tally as t (writer, lane, state, count)
        select $1, c.lane, c.state, c.count from unnest($2::text[], $3::text[], $4::int8[]) as c (lane, state, count)
        order by c.lane, c.state
        on conflict (writer, lane, state) do update set count = t.count + excluded.count
        """
}
