internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Synchronization

/// A transaction that writes, with what is written once at its end: tallies, events, and entries of the audit.
///
/// Rows are locked in one order by all transactions, so that none waits for another in a circle: accounts, counters of changes
/// (`changes`), devices, pushes; then, at the end, the tallies, the events and the audit's chain.
final class WriteTransaction: Sendable {
    /// What is written at the end.
    struct Pending: Sendable {
        var tally = TallyCount()
        var drafts: [AuditDraft] = []
        var events: [NewEvent] = []
        var calls: [@Sendable () -> Void] = []
    }

    private let transaction: Transaction
    private let audit: AuditChain
    private let kinds: Set<PushEvent.Kind>
    private let pending = Mutex(Pending())
    let sealing: Sealing
    /// Whether a device cannot be reached until it connects, as `StoreOptions` has it.
    let isAway: @Sendable (_ lane: String, _ device: String) -> Bool

    init(_ transaction: Transaction, of store: PostgreSQLStore) {
        self.transaction = transaction
        self.audit = store.audit
        self.kinds = store.options.events
        self.sealing = store.sealing
        self.isAway = store.options.isAway
    }

    /// Runs a statement in the transaction.
    func query(_ sql: String, _ values: any Bindable...) async throws -> Rows {
        try await self.transaction.query(sql, values: values)
    }

    /// Draws the next number of changes for each of the users, and locks their counters until the transaction ends.
    func changes(ofUsers users: [Int64]) async throws -> [Int64: Int64] {
        let users = Set(users).sorted()
        guard !users.isEmpty else { return [:] }
        var numbers: [Int64: Int64] = [:]
        for row in try await self.query(Self.nextChanges, users).map({ $0 }) {
            numbers[try row.integer(0)] = try row.integer(1)
        }
        return numbers
    }

    /// A number is at least the time since 1970 in units of 2⁻³⁰ s, as `PostgreSQLReader.newest` has it: so a database that was
    /// restored from a backup does not give numbers out again. The rows are locked in the order in which they are inserted.
    static let nextChanges = """
        insert into user_change as c (user_id, change)
        select u.user_id, (extract(epoch from clock_timestamp()) * 1073741824)::int8
        from unnest($1::int8[]) as u (user_id) order by u.user_id
        on conflict (user_id) do update set change = greatest(c.change + 1, excluded.change)
        returning user_id, change
        """

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

    /// Runs `body` once after the commit.
    func afterCommit(_ body: @escaping @Sendable () -> Void) {
        self.pending.withLock { $0.calls.append(body) }
    }

    /// Writes what was gathered. Must be called once, as the last of the transaction.
    ///
    /// Returns the new end of the writer's chain if there were entries for the audit, and the calls for after the commit.
    func finish(_ slot: WriterSlot, node: Int64) async throws -> (head: AuditHead?, calls: [@Sendable () -> Void]) {
        let pending = self.pending.withLock { $0 }
        try await self.write(pending.tally, of: slot.tallyWriter(node: node))
        try await self.write(pending.events)
        guard !pending.drafts.isEmpty else { return (nil, pending.calls) }
        let head = try await self.extend(slot.head, by: pending.drafts, node: node, with: self.audit)
        return (head, pending.calls)
    }
}
