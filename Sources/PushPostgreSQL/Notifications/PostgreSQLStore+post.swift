internal import Foundation
internal import PostgreSQL
internal import PushCore
package import PushStore

extension PostgreSQLStore {
    package func hashed(_ audience: Audience) -> HashedAudience {
        HashedAudience(audience, self.sealing.index, self.options.tags)
    }

    package func post(
        _ posts: [NewPost],
        of batch: IdempotentRequest?,
        within bounds: StorageBounds?,
        page: Int?
    ) async throws -> [PostOutcome] {
        try await self.measuringCommit {
            if batch == nil, page == nil, posts.count == 1, posts[0].joinsOthers {
                return [try await self.postTogether(PostMember(post: posts[0], bounds: bounds))]
            }
            return try await self.postAlone(posts, of: batch, within: bounds, page: page ?? AudienceWalk.page)
        }
    }

    /// Stores posts of a group, and returns an end for each.
    ///
    /// If a failure may be one member's fault, each member stores its post alone, so that only the
    /// faulty post fails.
    func store(_ members: [PostMember]) async -> [PostEnd] {
        let runs = PostRuns(by: self) { run, tx in
            tx.share(among: members.count)
            var group = try await PostGroup(members, run, by: self, tx)
            let ends = try await group.store()
            // `write` checks only the term of the caller whose task this is.
            for term in Set(members.compactMap(\.term)) { try self.membership.lease.check(term) }
            return ends
        }
        do {
            return try await runs.outcomes(from: .first)
        } catch {
            // Cancellation of the leader's task must not fail the other members.
            if !Task.isCancelled, let failure = error as? StoreError, failure.isOfAll {
                return members.map { _ in .failed(failure) }
            }
            let (run, last) = (runs.hasLost ? PostBatch.Run.afterLoss : .first, runs.last)
            return members.indices.map { index in
                if case .outcome(let outcome)? = last?[index] { return .alone(run, last: outcome) }
                return .alone(run, last: nil)
            }
        }
    }

    // MARK: - Private

    private func postTogether(_ member: PostMember) async throws -> PostOutcome {
        switch await self.posts.end(of: member, work: { await self.store($0) }) {
        case .outcome(let outcome): return outcome
        case .failed(let error): throw error
        case .alone(let run, let last):
            let outcomes = try await self.postAlone(
                [member.post],
                of: nil,
                within: member.bounds,
                page: AudienceWalk.page,
                from: run,
                last: last.map { [$0] }
            )
            guard let outcome = outcomes.first else { throw StoreError.failed(reason: "a post has no outcome") }
            return outcome
        }
    }

    private func postAlone(
        _ posts: [NewPost],
        of batch: IdempotentRequest?,
        within bounds: StorageBounds?,
        page: Int,
        from first: PostBatch.Run = .first,
        last: [PostOutcome]? = nil
    ) async throws -> [PostOutcome] {
        guard let notification = posts.first?.notification else { return [] }
        let runs = PostRuns(by: self, last: last) { run, tx in
            var posting = try await PostBatch(
                posts,
                of: batch,
                from: notification,
                within: bounds,
                run,
                page: page,
                by: self,
                tx
            )
            return try await posting.store(posts, of: batch)
        }
        return try await runs.outcomes(from: first)
    }
}

extension StoreError {
    /// Whether the database's state has failed a transaction, rather than the values that it
    /// stores.
    fileprivate var isOfAll: Bool {
        switch self {
        case .unavailable, .unknownOutcome, .busy, .full: true
        default: false
        }
    }
}
