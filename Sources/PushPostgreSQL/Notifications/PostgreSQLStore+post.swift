internal import Foundation
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func hashed(_ audience: Audience) -> HashedAudience {
        HashedAudience(audience, self.sealing.index, self.options.tags)
    }

    package func post(_ request: PostRequest) async throws -> [PostOutcome] {
        if request.posts.isEmpty { return [] }
        return try await self.measuringCommit {
            guard request.joinsOthers else { return try await self.postAlone(request) }
            switch try await self.posts.end(of: request, work: { await self.store($0) }).get() {
            case .outcomes(let outcomes): return outcomes
            case .alone(let run, let last): return try await self.postAlone(request, from: run, last: last)
            }
        }
    }

    /// Stores the posts of a group, and returns the outcome for each member.
    ///
    /// If the transaction fails and one member's posts may be the cause, each member stores its
    /// posts in a transaction of its own. Then only the faulty posts fail.
    func store(_ members: [PostRequest]) async -> [Result<PostEnd, StoreError>] {
        let runs = PostRuns(of: members, by: self)
        do {
            return try await runs.ends(from: .first).map { .success($0) }
        } catch {
            // If the leader's task was cancelled, the other members must not fail with it.
            if !Task.isCancelled, let failure = error as? StoreError, failure.isOfAll {
                return members.map { _ in .failure(failure) }
            }
            let (last, hasLost) = runs.known
            let run: PostGroup.Run = hasLost ? .afterLoss : .first
            return members.indices.map { index in
                if case .outcomes(let outcomes)? = last?[index] { return .success(.alone(run, last: outcomes)) }
                return .success(.alone(run, last: nil))
            }
        }
    }

    // MARK: - Private

    private func postAlone(
        _ member: PostRequest,
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

extension PostRequest: GroupMember {
    var byteCount: Int { self.posts.reduce(0) { $0 + $1.sealedPayload.count } }

    /// Whether the posts may share a transaction with other callers' posts. A group first locks
    /// the accounts and the counters of changes of the named users. So its posts must need no
    /// earlier lock.
    var joinsOthers: Bool { self.batch == nil && self.posts.count == 1 && self.isDirect(self.posts[0]) }

    /// Whether a post goes now, and goes to exactly the devices of the users whom it names.
    func isDirect(_ post: NewNotification) -> Bool {
        self.page == nil && post.options.sendAt == nil && post.options.collapseID == nil
            && post.audience.audience.platforms == nil && post.audience.isOfNames
    }

    /// The requests with an idempotency key, each with the notification that it stores.
    var requests: [IdempotencyKeys.Reserved] {
        let own = self.posts.compactMap { post in post.options.request.map { ($0, post) } }
        guard let batch, let first = self.posts.first else { return own }
        return [(batch, first)] + own
    }
}

/// The outcome of a group's transaction for one member.
enum PostEnd: Sendable {
    case outcomes([PostOutcome])
    /// The caller must store its posts alone, in a run of this kind. The group's commit may have
    /// succeeded: `last` contains the outcomes of that transaction.
    case alone(PostGroup.Run, last: [PostOutcome]?)
}
