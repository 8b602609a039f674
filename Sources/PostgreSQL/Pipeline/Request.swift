/// A statement in flight, and the handler of its result.
///
/// `@unchecked Sendable`: the caller's thread creates it and passes it to the loop; from then on,
/// only the loop's thread uses it.
final class Request: @unchecked Sendable {
    typealias Outcome = Result<Rows, DatabaseError>

    let statement: Statement
    /// Whether the result counts only once the whole group is stored: the failure of another
    /// statement of the group undoes it.
    let countsAtSync: Bool
    private var completion: ((Outcome) -> Void)?

    /// The time of submission, for the deadline.
    var start = ContinuousClock.now
    /// Whether this statement has a Sync of its own, so that no other statement's failure undoes
    /// it.
    var isAlone = false
    /// The number of times that the statement was sent again.
    var repeats = 0
    /// Whether a connection was already lost with this statement in flight. A second loss fails
    /// the statement.
    var hasLostConnection = false

    init(_ statement: Statement, countsAtSync: Bool, completion: @escaping (Outcome) -> Void) {
        self.statement = statement
        self.countsAtSync = countsAtSync
        self.completion = completion
    }

    /// Whether the caller has its answer, maybe because its deadline has passed.
    var isFinished: Bool { self.completion == nil }

    /// Gives the caller the first outcome, and drops later ones. Returns whether this was the
    /// first.
    @discardableResult
    func finish(_ outcome: Outcome) -> Bool {
        guard let completion = self.completion.take() else { return false }
        completion(outcome)
        return true
    }
}

/// The outcome of a request on a connection.
enum Answer {
    case rows(Rows)
    case failed(DatabaseError)
    /// Another request of the group has failed, so the server skipped this request or undid it.
    case undone
}

/// The user of an open connection. All calls come on the loop.
protocol SessionOwner: AnyObject {
    func session(_ session: Session, answered request: Request, with answer: Answer)

    /// The connection is closed; `requests` were sent, in this order, and will have no answer.
    func session(_ session: Session, lost requests: [Request], reason: String)
}
