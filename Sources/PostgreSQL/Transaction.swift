internal import CPostgreSQL
internal import Reactor

/// Deviations of a transaction from the defaults.
package struct TransactionTraits: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The transaction's commit waits neither for the disk nor for replicas. A crash of the
    /// database within the next second may undo the commit, unless a later commit has waited for
    /// the disk.
    package static let relaxed = TransactionTraits(rawValue: 1)
    /// The transaction's statements read in the order of an index, and no more rows than their
    /// limit. A bitmap scan would first gather all matches. The planner prefers such a scan if it
    /// expects fewer matches than the limit.
    package static let ordered = TransactionTraits(rawValue: 2)

    fileprivate var opening: [Statement] {
        (self.contains(.relaxed) ? [Statement(fixed: "set local synchronous_commit = off")] : [])
            + (self.contains(.ordered) ? [Statement(fixed: "set local enable_bitmapscan = off")] : [])
    }
}

/// A running transaction.
///
/// Its `begin` is sent in one message with its first statement. `@unchecked Sendable`: only the
/// loop's thread uses its mutable state.
package final class Transaction: @unchecked Sendable {
    /// The end of a transaction.
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

    // MARK: Confined to the loop

    private var hasBegun = false
    private var hasEnded = false
    /// The outcome of a commit that was sent in one message with other statements. Not set if one
    /// of these statements failed.
    private var earlyEnding: Ending?
    /// The first failure of a statement: nothing of the transaction will be stored.
    private var failure: DatabaseError?

    init(_ session: Session, on loop: EventLoop, _ traits: TransactionTraits = []) {
        self.session = session
        self.loop = loop
        self.traits = traits
    }

    /// Runs a statement in the transaction.
    ///
    /// After a failed statement, the transaction can only end. If a task is cancelled, its
    /// statement still completes: the statement's time is limited anyway.
    package func query(_ sql: String, _ values: any Bindable...) async throws(DatabaseError) -> Rows {
        try await self.query(sql, values: values)
    }

    /// Runs a statement whose values are in an array.
    package func query(_ sql: String, values: [any Bindable]) async throws(DatabaseError) -> Rows {
        try await self.query(all: [Statement(sql, values: values)])[0]
    }

    /// Pipelines statements in their order. Returns the rows of each.
    ///
    /// Throws the first failure; the server does not run the statements after it.
    package func query(all statements: [Statement]) async throws(DatabaseError) -> [Rows] {
        if statements.isEmpty { return [] }
        return try await self.loop.outcome { self.start(all: statements, $0) }.get()
    }

    /// Runs statements, and commits, in one message, so that locks do not stay while the server
    /// waits for this process.
    ///
    /// Throws the first failure of a statement; then nothing is stored. Throws `unknownOutcome` if
    /// the connection is lost before the commit is confirmed. Afterwards the transaction can only
    /// end.
    package func commit(after statements: [Statement]) async throws(DatabaseError) -> [Rows] {
        try await self.loop.outcome { self.startCommit(after: statements, $0) }.get()
    }

    /// Commits or rolls back, unless the transaction has already done so; then calls `finally` on
    /// the loop. `failure`: the first failure of a statement.
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
            // The answers arrive in the statements' order.
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
                // It is unknown whether the server has reached the commit.
                if case .failure(.unavailable(let reason)) = outcome, self.failure?.isLostConnection ?? true {
                    self.failure = nil
                    self.earlyEnding = .unknown(reason: reason)
                    return completion(.failure(.unknownOutcome(reason: reason)))
                }
                // The server skipped the commit; the transaction must still be rolled back.
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
        // The server may receive part of the message even though sending failed; without the
        // commit's end, nothing is stored.
        guard isSent else {
            return completion(.failure(self.failure ?? .unavailable(reason: "the connection was lost")))
        }
        self.hasEnded = true
        self.session.sync()
    }

    /// Sends the statement; a Sync must follow.
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
        // The last statement's result counts when the connection is free for the next transaction.
        self.session.submit(Request(statement, countsAtSync: isLast, completion: completion))
    }

    private func record(_ outcome: Request.Outcome) {
        if case .failure(let error) = outcome, self.failure == nil { self.failure = error }
    }

    /// Sends the last statement, if a first one was sent.
    private func finish(_ statement: Statement, _ completion: @escaping (Request.Outcome) -> Void) {
        self.hasEnded = true
        let lost = DatabaseError.unavailable(reason: "the connection was lost")
        guard self.hasBegun, self.session.isOpen else {
            if self.hasBegun, self.failure == nil { self.failure = lost }
            return completion(.failure(lost))
        }
        // The server may receive part of the message even though sending failed.
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
