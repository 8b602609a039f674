internal import PushCore
internal import PushStore
internal import Synchronization

/// The runs of a transaction that stores posts, until their outcome is known.
///
/// `body` returns the outcomes, or `nil` if an earlier run was committed, whose outcomes then
/// hold.
final class PostRuns<Outcomes: Sendable>: Sendable {
    typealias Body = @Sendable (PostBatch.Run, WriteTransaction) async throws -> Outcomes?

    private struct State {
        var last: Outcomes?
        var hasLost = false
    }

    private let store: PostgreSQLStore
    private let body: Body
    private let state: Mutex<State>

    /// `last`: the outcomes of a run before these, which may have been committed.
    init(by store: PostgreSQLStore, last: Outcomes? = nil, _ body: @escaping Body) {
        self.store = store
        self.body = body
        self.state = Mutex(State(last: last))
    }

    /// The outcomes of the last run that reached its commit.
    var last: Outcomes? { self.state.withLock { $0.last } }

    /// Whether the outcome of any commit was unknown.
    var hasLost: Bool { self.state.withLock { $0.hasLost } }

    /// Runs the transaction. Runs it again if other posts have overtaken it, or if its connection
    /// was lost at its commit.
    func outcomes(from run: PostBatch.Run) async throws -> Outcomes {
        if run == .afterLoss { return try await self.afterLoss("a connection was lost during a commit") }
        do {
            return try await self.untilKnown(run)
        } catch is PostBatch.Overtaken {
            return try await self.untilKnown(.overtaken)
        }
    }

    // MARK: - Private

    private func untilKnown(_ run: PostBatch.Run) async throws -> Outcomes {
        do {
            if let outcomes = try await self.run(run) { return outcomes }
        } catch StoreError.unknownOutcome(let reason) {
            self.state.withLock { $0.hasLost = true }
            return try await self.afterLoss(reason)
        }
        throw StoreError.failed(reason: "a run of posts has no outcomes")
    }

    /// Retries to learn the outcome: without an idempotency key, the sender could only send the
    /// post again, under another id.
    private func afterLoss(_ reason: String) async throws -> Outcomes {
        do {
            if let outcomes = try await self.run(.afterLoss) { return outcomes }
        } catch StoreError.unavailable {
            throw StoreError.unknownOutcome(reason: reason)
        }
        guard let last else { throw StoreError.unknownOutcome(reason: reason) }
        return last
    }

    private func run(_ run: PostBatch.Run) async throws -> Outcomes? {
        try await self.store.writeUnmeasured { tx in
            let outcomes = try await self.body(run, tx)
            if let outcomes { self.state.withLock { $0.last = outcomes } }
            return outcomes
        }
    }
}
