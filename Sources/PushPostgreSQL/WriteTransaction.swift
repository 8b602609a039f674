internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A transaction that writes, with what is written once at its end: tallies, entries of the audit, and events.
///
/// Rows are locked in one order by all transactions, so that none waits for another in a circle: accounts, counters of changes
/// (`changes`), devices, pushes; then, at the end, the tallies, the audit's chain and the events.
final class WriteTransaction: Sendable {
    /// Runs a statement in the transaction.
    func query(_ sql: String, _ values: any Bindable...) async throws -> Rows { fatalError() }

    /// Draws the next number of changes for each of the users, and locks their counters until the transaction ends.
    func changes(ofUsers users: [Int64]) async throws -> [Int64: Int64] { fatalError() }

    /// Counts pushes that enter a state.
    func count(_ state: TallyState, lane: String, by count: Int = 1) {}

    /// Adds an entry to the audit.
    func append(_ record: AuditRecord) {}

    /// Adds an event, if its kind is one that the store keeps.
    func note(_ event: NewEvent) {}

    /// Whether events of a kind are kept, so that what they need has to be read.
    func keeps(_ kind: PushEvent.Kind) -> Bool { false }

    /// Runs `body` once after the commit.
    func afterCommit(_ body: @escaping @Sendable () -> Void) {}

    init() {}
}

/// An event without its number.
struct NewEvent: Sendable {
    let kind: PushEvent.Kind
    let at: Date
    let notification: Int64?
    let device: Int64?
    let user: Int64?
    /// The lane; an event names only its platform.
    let lane: String?
    let sender: Int64?
    let reason: String?
}

extension PostgreSQLStore {
    /// Runs a transaction that writes, again after a serialization failure, and throws `StoreError`.
    func write<Value: Sendable>(
        _ body: @Sendable (WriteTransaction) async throws -> Value
    ) async throws -> Value { fatalError() }

    /// Runs a statement that only reads.
    func read(_ sql: String, _ values: any Bindable...) async throws(StoreError) -> Rows { fatalError() }
}
