internal import Foundation
internal import PostgreSQL
internal import PushCore
package import PushStore

extension PostgreSQLStore {
    package func hashed(_ audience: Audience) -> HashedAudience {
        HashedAudience(audience, self.sealing.index, self.options.tags)
    }

    package func post(
        _ posts: [NewNotification],
        of batch: IdempotentRequest?,
        within bounds: StorageBounds?,
        page: Int?
    ) async throws -> [PostOutcome] {
        if posts.isEmpty { return [] }
        let member = PostMember(posts: posts, batch: batch, bounds: bounds, page: page)
        return try await self.measuringCommit {
            guard member.joinsOthers else { return try await self.postAlone(member) }
            switch try await self.posts.end(of: member, work: { await self.store($0) }).get() {
            case .outcomes(let outcomes): return outcomes
            case .alone(let run, let last): return try await self.postAlone(member, from: run, last: last)
            }
        }
    }

    /// Stores the posts of a group, and returns the outcome for each member.
    ///
    /// If the transaction fails and one member's posts may be the cause, each member stores its
    /// posts in a transaction of its own. Then only the faulty posts fail.
    func store(_ members: [PostMember]) async -> [Result<PostEnd, StoreError>] {
        let runs = PostRuns(of: members, by: self)
        do {
            return try await runs.ends(from: .first).map { .success($0) }
        } catch {
            // If the leader's task was cancelled, the other members must not fail with it.
            if !Task.isCancelled, let failure = error as? StoreError, failure.isOfAll {
                return members.map { _ in .failure(failure) }
            }
            let (run, last) = (runs.hasLost ? PostGroup.Run.afterLoss : .first, runs.last)
            return members.indices.map { index in
                if case .outcomes(let outcomes)? = last?[index] { return .success(.alone(run, last: outcomes)) }
                return .success(.alone(run, last: nil))
            }
        }
    }

    // MARK: - Private

    private func postAlone(
        _ member: PostMember,
        from run: PostGroup.Run = .first,
        last: [PostOutcome]? = nil
    ) async throws -> [PostOutcome] {
        let runs = PostRuns(of: [member], isAlone: true, last: last.map { [.outcomes($0)] }, by: self)
        guard case .outcomes(let outcomes)? = try await runs.ends(from: run).first else {
            throw StoreError.failed(reason: "posts have no outcomes")
        }
        return outcomes
    }
}

extension StoreError {
    /// Whether a transaction has failed because of the database's state, and not because of the
    /// values that it stores.
    fileprivate var isOfAll: Bool {
        switch self {
        case .unavailable, .unknownOutcome, .busy, .full: true
        default: false
        }
    }
}
