/// A statement that was submitted to a connection, and the handler of its result.
///
/// `@unchecked Sendable`: the caller's thread creates this object and passes it to the event loop.
/// From then on, only the loop's thread uses it.
final class Request: @unchecked Sendable {
    typealias Outcome = Result<Rows, DatabaseError>

    let statement: Statement
    /// Whether the result counts only when the whole group of statements is stored. Before that,
    /// the failure of another statement in the group could undo this statement.
    let countsAtSync: Bool
    private var completion: ((Outcome) -> Void)?

    /// The time of submission, where the time limit begins.
    var start = ContinuousClock.now
    /// Whether this statement has a Sync of its own, so that the failure of another statement does
    /// not undo it.
    var isAlone = false
    /// The number of times that the statement was sent again.
    var repeats = 0
    /// Whether a connection was already lost while this statement was in flight. If that happens a
    /// second time, the statement fails.
    var hasLostConnection = false

    init(_ statement: Statement, countsAtSync: Bool, completion: @escaping (Outcome) -> Void) {
        self.statement = statement
        self.countsAtSync = countsAtSync
        self.completion = completion
    }

    /// Whether the caller has its answer, perhaps because the deadline has passed.
    var isFinished: Bool { self.completion == nil }

    /// Gives the caller the first outcome, and drops later outcomes. Returns whether this outcome
    /// was the first.
    @discardableResult
    func finish(_ outcome: Outcome) -> Bool {
        guard let completion = self.completion.take() else { return false }
        completion(outcome)
        return true
    }
}

/// The answer of a connection to one request.
enum Answer {
    case rows(Rows)
    case failed(DatabaseError)
    /// Another statement of the group has failed, so the server skipped this statement or undid
    /// its changes.
    case undone
}

/// The owner of an open connection; it gets the connection's answers. All calls come on the event
/// loop.
protocol SessionOwner: AnyObject {
    func session(_ session: Session, answered request: Request, with answer: Answer)

    /// The connection is closed. `requests` were sent in this order, and will get no answer.
    func session(_ session: Session, lost requests: [Request], reason: String)
}
