internal import PushStore
internal import SQLite
internal import Synchronization

/// State that the jobs of one transaction share, so that it is read and written once for all of
/// them.
///
/// It is used on the writer's queue only; the lock costs next to nothing there.
final class TransactionNotes: Sendable {
    private struct State {
        var tally = TallyCount()
        var newestAuditEntry: AuditLink?
    }

    private let state = Mutex(State())

    /// Counts a push that enters a state; written at the end of the transaction.
    func count(_ state: TallyState, lane: String) {
        self.state.withLock { $0.tally.add(state, lane: lane) }
    }

    /// The newest entry of the audit, if one was added in this transaction.
    var newestAuditEntry: AuditLink? {
        get { self.state.withLock { $0.newestAuditEntry } }
        set { self.state.withLock { $0.newestAuditEntry = newValue } }
    }

    /// Writes the counts. Must be called before the transaction, or a savepoint in it, ends.
    func write(_ db: Database) throws {
        let tally = self.state.withLock { state in
            defer { state.tally = TallyCount() }
            return state.tally
        }
        try tally.write(db)
    }

    /// Clears the state: the transaction has ended, or a savepoint in it was rolled back.
    func forget() {
        self.state.withLock { $0 = State() }
    }
}

extension TallyCount {
    func write(_ db: Database) throws {
        for (key, count) in self.counts {
            try db.run(
                prepared: """
                    insert into tally (lane, state, count) values (?, ?, ?)
                    on conflict (lane, state) do update set count = count + excluded.count
                    """,
                key.lane,
                key.state.rawValue,
                count
            )
        }
    }
}
