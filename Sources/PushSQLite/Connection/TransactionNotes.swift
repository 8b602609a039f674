internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

/// Values that all jobs of one transaction share, so that they are read and written only once for
/// all jobs.
///
/// Only the writer's queue uses this object, so its lock costs next to nothing.
final class TransactionNotes: Sendable {
    private struct State {
        var tally = TallyCount()
        var newestAuditEntry: AuditLink?
    }

    private let state = Mutex(State())

    /// Counts a push that has entered a state. The count is written at the end of the transaction.
    func count(_ state: TallyState, lane: String) {
        self.state.withLock { $0.tally.add(state, lane: lane) }
    }

    /// The newest entry of the audit, if this transaction has added one; otherwise `nil`.
    var newestAuditEntry: AuditLink? {
        get { self.state.withLock { $0.newestAuditEntry } }
        set { self.state.withLock { $0.newestAuditEntry = newValue } }
    }

    /// Writes the counts. Call it before the transaction, or a savepoint in it, ends.
    func write(_ db: Database) throws {
        let tally = self.state.withLock { state in
            defer { state.tally = TallyCount() }
            return state.tally
        }
        try tally.write(db)
    }

    /// Clears the values, because the transaction has ended, or a savepoint in it was rolled back.
    func forget() { self.state.withLock { $0 = State() } }
}

extension TallyCount {
    func write(_ db: Database) throws {
        for (key, count) in self.counts {
            try db.run(
                """
                insert into tally (lane, state, count) values (\(key.lane), \(key.state.rawValue), \(count))
                on conflict (lane, state) do update set count = count + excluded.count
                """
            )
        }
    }
}
