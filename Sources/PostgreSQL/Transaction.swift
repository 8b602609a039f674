internal import CPostgreSQL
internal import Reactor

/// The ways in which a transaction differs from the default.
package struct TransactionTraits: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The commit of the transaction waits neither for the disk nor for replicas. A crash of the
    /// database within the next second may undo it, unless a later commit has waited for the disk.
    package static let relaxed = TransactionTraits(rawValue: 1)
    /// The transaction's statements read rows in the order of an index, and no more rows than
    /// their `limit`. A bitmap scan would first collect all matching rows. The planner prefers
    /// such a scan if it expects fewer rows than the limit.
    package static let ordered = TransactionTraits(rawValue: 2)

    fileprivate var opening: [Statement] {
        (self.contains(.relaxed) ? [Statement(fixed: "set local synchronous_commit = off")] : [])
            + (self.contains(.ordered) ? [Statement(fixed: "set local enable_bitmapscan = off")] : [])
    }
}

/// A running transaction.
///
/// Its `begin` is sent in one message with its first statement.
///
/// `@unchecked Sendable`: only the loop's thread uses the mutable state.
package final class Transaction: @unchecked Sendable {
    /// The result of a transaction's commit or rollback.
    enum Ending: Sendable {
        case committed
        case rolledBack
        /// The commit itself failed, and nothing is stored.
        case refused(DatabaseError)
        case unknown(reason: String)
    }

    private struct End: Sendable {
        let ending: Ending
        let failure: DatabaseError?
    }

    private static let begin = Statement(fixed: "begin")
    private static let commit = Statement(fixed: "commit")
    private static let rollback = Statement(fixed: "rollback")

    private let loop: EventLoop
    private let session: Session
    private let traits: TransactionTraits
    /// Whether an earlier run of the same transaction has failed.
    package let isRepeat: Bool

    // MARK: Confined to the loop

    private var hasBegun = false
    private var hasEnded = false
    /// The outcome of a commit that was sent in one message with other statements. `nil` if one of
    /// these statements failed.
    private var earlyEnding: Ending?
    /// The first failure of a statement. If it is not `nil`, nothing of the transaction will be
    /// stored.
    private var failure: DatabaseError?

    init(_ session: Session, on loop: EventLoop, _ traits: TransactionTraits = [], isRepeat: Bool = false) {
        self.session = session
        self.loop = loop
        self.traits = traits
        self.isRepeat = isRepeat
    }

    /// Runs a statement in the transaction.
    ///
    /// After a failed statement, the caller can only end the transaction. If the task is
    /// cancelled, its statement is still completed: the time of a statement is limited anyway.
    package func query(_ sql: String, _ values: any Bindable...) async throws(DatabaseError) -> Rows {
        try await self.query(sql, values: values)
    }

    /// Runs a statement with the parameters in `values`.
    package func query(_ sql: String, values: [any Bindable]) async throws(DatabaseError) -> Rows {
        try await self.query(all: [Statement(sql, values: values)])[0]
    }

    /// Sends the statements together, and runs them in their order. Returns the rows of each
    /// statement.
    ///
    /// Throws the first failure; the server then runs none of the later statements.
    package func query(all statements: [Statement]) async throws(DatabaseError) -> [Rows] {
        if statements.isEmpty { return [] }
        return try await self.loop.outcome { self.start(all: statements, $0) }.get()
    }

    /// Sends statements and the commit in one message. So the server does not hold locks while it
    /// waits for this process.
    ///
    /// Throws the first failure of a statement; nothing is stored then. Throws `unknownOutcome` if
    /// the connection is lost before the server has confirmed the commit. After this call, the
    /// caller can only end the transaction.
    package func commit(after statements: [Statement]) async throws(DatabaseError) -> [Rows] {
        try await self.loop.outcome { self.startCommit(after: statements, $0) }.get()
    }

    /// Commits or rolls back the transaction, unless it has already ended. Then calls `finally` on
    /// the event loop. The returned `failure` is the first failure of a statement.
    func end(
        commits: Bool,
        finally: @escaping @Sendable () -> Void
    ) async -> (ending: Ending, failure: DatabaseError?) {
        let outcome: Result<End, DatabaseError> = await self.loop.outcome { completion in
            if let ending = self.earlyEnding {
                finally()
                return completion(.success(End(ending: ending, failure: self.failure)))
            }
            let isCommit = commits && self.failure == nil
            self.finish(isCommit ? Self.commit : Self.rollback) { outcome in
                let ending = self.ending(isCommit: isCommit, outcome)
                finally()
                completion(.success(End(ending: ending, failure: self.failure)))
            }
        }
        switch outcome {
        case .success(let end): return (end.ending, end.failure)
        case .failure(let error): return (.unknown(reason: error.description), nil)
        }
    }

    // MARK: - Private

    private func start(
        all statements: [Statement],
        _ completion: @escaping (Result<[Rows], DatabaseError>) -> Void
    ) {
        var answers: [Rows] = []
        var failure: DatabaseError?
        var missing = statements.count
        for statement in statements {
            // The server answers in the order of the statements.
            self.start(statement) { outcome in
                switch outcome {
                case .success(let rows): answers.append(rows)
                case .failure(let error): failure = failure ?? error
                }
                missing -= 1
                if missing == 0 { completion(failure.map { .failure($0) } ?? .success(answers)) }
            }
        }
        self.session.sync()
    }

    private func startCommit(
        after statements: [Statement],
        _ completion: @escaping (Result<[Rows], DatabaseError>) -> Void
    ) {
        var answers: [Rows] = []
        for statement in statements {
            self.start(statement) { if case .success(let rows) = $0 { answers.append(rows) } }
        }
        guard self.hasBegun, !self.hasEnded else {
            return completion(.failure(.refused(code: "25P01", message: "no transaction is under way")))
        }
        let isSent =
            self.failure == nil
            && self.send(Self.commit, isLast: true) { outcome in
                // The client cannot know whether the server has executed the commit.
                if case .failure(.unavailable(let reason)) = outcome, self.failure?.isLostConnection ?? true {
                    self.failure = nil
                    self.earlyEnding = .unknown(reason: reason)
                    return completion(.failure(.unknownOutcome(reason: reason)))
                }
                // The server skipped the commit, so the transaction must still be rolled back.
                if let failure = self.failure {
                    self.hasEnded = false
                    return completion(.failure(failure))
                }
                let ending = self.ending(isCommit: true, outcome)
                self.earlyEnding = ending
                switch ending {
                case .committed: completion(.success(answers))
                case .rolledBack:
                    completion(.failure(.refused(code: "25P02", message: "the transaction had failed before")))
                case .refused(let error): completion(.failure(error))
                case .unknown(let reason): completion(.failure(.unknownOutcome(reason: reason)))
                }
            }
        // Even though sending failed, the server may have received a part of the message. But
        // without the complete commit, it stores nothing.
        guard isSent else {
            return completion(.failure(self.failure ?? .unavailable(reason: "the connection was lost")))
        }
        self.hasEnded = true
        self.session.sync()
    }

    /// Sends the statement. A Sync must follow.
    private func start(_ statement: Statement, _ completion: @escaping (Request.Outcome) -> Void) {
        if self.hasEnded {
            return completion(.failure(.refused(code: "25P01", message: "the transaction has ended")))
        }
        if !self.hasBegun {
            self.hasBegun = true
            for opening in [Self.begin] + self.traits.opening {
                _ = self.send(opening) { [weak self] in self?.record($0) }
            }
        }
        let isSent = self.send(statement) { [weak self] outcome in
            self?.record(outcome)
            completion(outcome)
        }
        guard isSent else {
            let failure = self.failure ?? .unavailable(reason: "the connection was lost")
            self.failure = failure
            return completion(.failure(failure))
        }
    }

    private func send(
        _ statement: Statement,
        isLast: Bool = false,
        _ completion: @escaping (Request.Outcome) -> Void
    ) -> Bool {
        // The last statement of a transaction gets its result only at the Sync, when the
        // connection is free for the next transaction.
        self.session.submit(Request(statement, countsAtSync: isLast, completion: completion))
    }

    private func record(_ outcome: Request.Outcome) {
        if case .failure(let error) = outcome, self.failure == nil { self.failure = error }
    }

    /// Sends the last statement of the transaction, unless no statement was sent before.
    private func finish(_ statement: Statement, _ completion: @escaping (Request.Outcome) -> Void) {
        self.hasEnded = true
        let lost = DatabaseError.unavailable(reason: "the connection was lost")
        guard self.hasBegun, self.session.isOpen else {
            if self.hasBegun, self.failure == nil { self.failure = lost }
            return completion(.failure(lost))
        }
        // Sending failed, but the server may have received a part of the message. So the outcome
        // of a commit is unknown.
        guard self.send(statement, isLast: true, completion) else { return completion(.failure(lost)) }
        self.session.sync()
    }

    private func ending(isCommit: Bool, _ outcome: Request.Outcome) -> Ending {
        guard self.hasBegun else { return isCommit ? .committed : .rolledBack }
        guard isCommit, self.failure == nil else { return .rolledBack }
        switch outcome {
        case .success(let rows) where rows.command == "COMMIT": return .committed
        case .success: return .refused(.refused(code: "25P02", message: "the transaction had failed before"))
        case .failure(.unavailable(let reason)), .failure(.unknownOutcome(let reason)): return .unknown(reason: reason)
        case .failure(let error): return .refused(error)
        }
    }
}
