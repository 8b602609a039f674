internal import GRDB
internal import PushStore
internal import Synchronization

/// What the work of one transaction has in common, so that it is read and written once and not for each caller.
///
/// On the writer's queue only; the lock costs next to nothing there.
final class TransactionNotes: Sendable {
    private struct State {
        var tally = TallyCount()
        var newestAuditEntry: AuditLink?
    }

    private let state = Mutex(State())

    /// Counts pushes into a state; written at the end of the transaction.
    func count(_ state: TallyState, lane: String) {
        self.state.withLock { $0.tally.add(state, lane: lane) }
    }

    /// The newest entry of the audit, if one was added in this transaction.
    var newestAuditEntry: AuditLink? {
        get { self.state.withLock { $0.newestAuditEntry } }
        set { self.state.withLock { $0.newestAuditEntry = newValue } }
    }

    /// Writes what was counted. To be called before the transaction, or the part of it that may be undone, ends.
    func write(_ db: Database) throws {
        let tally = self.state.withLock { state in
            defer { state.tally = TallyCount() }
            return state.tally
        }
        try tally.write(db)
    }

    /// Forgets everything: the transaction is over, or a part of it was undone.
    func forget() {
        self.state.withLock { $0 = State() }
    }
}
