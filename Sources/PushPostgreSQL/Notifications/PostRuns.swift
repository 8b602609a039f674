internal import PushCore
internal import PushStore
internal import Synchronization

/// The runs of a group's transaction, until its outcome is known.
final class PostRuns: Sendable {
    /// The maximum number of runs. If a group needed more runs, the cause would be the group
    /// itself.
    private static let maximumRuns = 4

    private struct State {
        var last: [PostEnd]?
        var hasLost = false
    }

    private let store: PostgreSQLStore
    private let members: [PostRequest]
    private let isAlone: Bool
    private let state: Mutex<State>

    /// `last` contains the outcomes of an earlier run with the same posts, whose commit may have
    /// succeeded.
    init(of members: [PostRequest], isAlone: Bool = false, last: [PostEnd]? = nil, by store: PostgreSQLStore) {
        (self.members, self.isAlone, self.store) = (members, isAlone, store)
        self.state = Mutex(State(last: last))
    }

    /// The outcomes of the members in the last run that reached its commit; `nil` if no run did.
    /// Also whether the outcome of any run's commit was unknown.
    var known: (last: [PostEnd]?, hasLost: Bool) { self.state.withLock { ($0.last, $0.hasLost) } }

    /// Runs the transaction until its outcome is known. It runs again if other posts have
    /// overtaken it, or if the connection was lost during its commit. If the sender itself had to
    /// retry without an idempotency key, the retry would store the post twice, under two ids.
    func ends(from first: PostGroup.Run) async throws -> [PostEnd] {
        var (run, reason) = (first, "a connection was lost during a commit")
        for _ in 0..<Self.maximumRuns {
            do {
                if let ends = try await self.run(run) ?? self.known.last { return ends }
                throw StoreError.unknownOutcome(reason: reason)
            } catch is PostGroup.Overtaken {
                if run == .first { run = .overtaken }
            } catch StoreError.unknownOutcome(let lost) where run != .afterLoss {
                (run, reason) = (.afterLoss, lost)
                self.state.withLock { $0.hasLost = true }
            } catch StoreError.unavailable where run == .afterLoss {
                throw StoreError.unknownOutcome(reason: reason)
            }
        }
        throw StoreError.failed(reason: "other posts were stored before these in each run")
    }

    // MARK: - Private

    private func run(_ run: PostGroup.Run) async throws -> [PostEnd]? {
        try await self.store.writeUnmeasured { tx in
            tx.share(among: self.members.count)
            var group = try await PostGroup(self.members, run, isAlone: self.isAlone, by: self.store, tx)
            let ends = try await group.store()
            // `write` makes this check only for the caller whose task runs this code. So this loop
            // makes it for all members.
            for term in Set(self.members.compactMap(\.term)) { try self.store.membership.lease.check(term) }
            if let ends { self.state.withLock { $0.last = ends } }
            return ends
        }
    }
}
