internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Synchronization

/// A transaction that writes, with what is written once at its end: tallies, events, what has ended, and entries of the audit.
///
/// Rows are locked in one order by all transactions, so that none waits for another in a circle: accounts, counters of changes
/// (`numbers`), devices, pushes; then, at the end, the epoch, the tallies, the events and the audit's chain.
final class WriteTransaction: Sendable {
    /// What is written at the end.
    struct Pending: Sendable {
        var tally = TallyCount()
        var drafts: [AuditDraft] = []
        var events: [NewEvent] = []
        var ends: [CredentialLease.End] = []
        var calls: [@Sendable () -> Void] = []
        var last: [Last] = []
        /// The writes of callers that it stores.
        var writes = 1
    }

    struct Last: Sendable {
        let statement: Statement
        let check: @Sendable (Rows) throws -> Void
    }

    private let transaction: Transaction
    private let audit: AuditChain
    private let kinds: Set<PushEvent.Kind>
    private let pending = Mutex(Pending())
    let sealing: Sealing
    /// The lanes whose devices are reached by their event streams only.
    let streamLanes: Set<String>

    init(_ transaction: Transaction, of store: PostgreSQLStore) {
        self.transaction = transaction
        self.audit = store.audit
        self.kinds = store.options.events
        self.sealing = store.sealing
        self.streamLanes = store.options.streamLanes
    }

    /// Runs a statement in the transaction.
    func query(_ sql: String, _ values: any Bindable...) async throws -> Rows {
        try await self.transaction.query(sql, values: values)
    }

    /// The same with the values in an array.
    func query(_ sql: String, values: [any Bindable]) async throws -> Rows {
        try await self.transaction.query(sql, values: values)
    }

    /// Runs statements in their order, without waiting for the answer of one before the next one is sent. Returns the rows of each.
    func query(all statements: [Statement]) async throws -> [Rows] {
        try await self.transaction.query(all: statements)
    }

    /// Runs a statement at the end, together with others; `check` may refuse the transaction for what it returns.
    func queryLast(_ statement: Statement, _ check: @escaping @Sendable (Rows) throws -> Void = { _ in }) {
        self.pending.withLock { $0.last.append(Last(statement: statement, check: check)) }
    }

    /// Counts pushes that enter a state.
    func count(_ state: TallyState, lane: String, by count: Int = 1) {
        self.pending.withLock { $0.tally.add(state, lane: lane, by: count) }
    }

    /// Adds an entry to the audit.
    func append(_ record: AuditRecord) {
        let draft = self.audit.draft(record)
        self.pending.withLock { $0.drafts.append(draft) }
    }

    /// Adds an event, if its kind is one that the store keeps.
    func note(_ event: NewEvent) {
        guard self.keeps(event.kind) else { return }
        self.pending.withLock { $0.events.append(event) }
    }

    /// Whether events of a kind are kept, so that what they need has to be read.
    func keeps(_ kind: PushEvent.Kind) -> Bool { self.kinds.contains(kind) }

    /// So many callers' writes are stored together.
    func share(among writes: Int) {
        self.pending.withLock { $0.writes = writes }
    }

    /// Has all processes forget credentials before `write` returns.
    func end(_ end: CredentialLease.End) {
        self.pending.withLock { $0.ends.append(end) }
    }

    /// Runs `body` once after the commit.
    func afterCommit(_ body: @escaping @Sendable () -> Void) {
        self.pending.withLock { $0.calls.append(body) }
    }

    /// Writes what was gathered. Must be called once, as the last of the transaction.
    func finish(_ slot: WriterSlot, node: Int64) async throws -> FinishedWrite {
        let pending = self.pending.withLock { $0 }
        let epoch = try await self.write(pending.ends)
        var finished = FinishedWrite(
            calls: pending.calls,
            writes: pending.writes,
            epoch: epoch,
            filled: pending.tally.filled
        )
        var statements = pending.last.map(\.statement)
        if let counts = try pending.tally.addition(to: slot.tallyWriter(node: node)) { statements.append(counts) }
        if let events = try NewEvent.insertion(of: pending.events) { statements.append(events) }
        var entries: AuditExtension?
        if !pending.drafts.isEmpty {
            let head = try await self.head(of: slot, node: node, with: self.audit)
            let added = try AuditExtension(of: head, by: pending.drafts, with: self.audit)
            statements.append(try added.statement)
            entries = added
        }
        let answers = try await self.query(all: statements)
        for (last, rows) in zip(pending.last, answers) { try last.check(rows) }
        if let entries {
            guard let added = answers.last, added.changed == entries.count else { throw AuditChainLost() }
            finished.head = entries.head
        }
        return finished
    }
}

/// What is left to do once a transaction is stored.
struct FinishedWrite: Sendable {
    let calls: [@Sendable () -> Void]
    let writes: Int
    /// The number of the last of what has ended, if anything has.
    let epoch: Int64?
    /// The lanes that have new pushes.
    let filled: Set<String>
    /// The new end of the writer's chain, if there were entries for the audit.
    var head: AuditHead?
}

extension TallyCount {
    fileprivate var filled: Set<String> { Set(self.counts.keys.filter { $0.state == .enqueued }.map(\.lane)) }
}
