package import Foundation
package import PushCore

/// Notifications of one sender, which are stored together in their order.
package struct PostRequest: Sendable {
    package let posts: [NewNotification]
    /// The idempotency key of a batch, which covers all its posts.
    package let batch: IdempotentRequest?
    package let bounds: StorageBounds?
    /// The number of devices in a page; `nil`: the store's default.
    package let page: Int?
    /// The term of the `CredentialLease` in which the caller's request began; a term ends when the
    /// lease expires. It is stored here, since another caller's task may store these posts.
    package let term = CredentialLease.admission

    package init(
        _ posts: [NewNotification],
        of batch: IdempotentRequest? = nil,
        within bounds: StorageBounds? = nil,
        page: Int? = nil
    ) {
        (self.posts, self.batch, self.bounds, self.page) = (posts, batch, bounds, page)
    }
}

/// The decisions about the posts of one caller, in the order of the posts.
///
/// The store writes each plan that `next` returns, and reports the outcome with `end`. A post is
/// refused before anything of it is written. So a refusal needs no rollback.
package struct Posting: Sendable {
    /// The outcomes of the posts so far. A post whose plan `next` has returned counts as stored.
    package private(set) var outcomes: [PostOutcome] = []
    private let posts: [NewNotification]
    private let bounds: StorageBounds?
    /// The idempotency key for the whole batch; `nil` once it is part of a plan.
    private var batch: IdempotentRequest?

    package init(_ request: PostRequest) {
        (self.posts, self.batch, self.bounds) = (request.posts, request.batch, request.bounds)
        self.outcomes.reserveCapacity(self.posts.count)
    }

    /// The plan for the next post that the store must write; `nil` after the last post.
    package mutating func next(_ facts: inout some PostFacts) throws -> PostPlan? {
        if self.outcomes.isEmpty, let batch, let earlier = try facts.earlier(batch) {
            if try earlier.outcome(of: batch) == .keyReused {
                self.outcomes = self.posts.map { _ in .keyReused }
                return nil
            }
            self.batch = nil
        }
        while self.outcomes.count < self.posts.count {
            let post = self.posts[self.outcomes.count]
            var recipients: Set<Int64> = []
            if let refusal = try self.refusal(of: post, &facts, &recipients) {
                self.outcomes.append(refusal)
                continue
            }
            defer { self.batch = nil }
            self.outcomes.append(.stored(.none))
            return PostPlan(
                index: self.outcomes.count - 1,
                post: post,
                // A scheduled notification gets its recipients only when it is sent.
                recipients: post.options.sendAt == nil ? recipients : [],
                requests: [post.options.request, self.batch].compactMap { $0 }
            )
        }
        return nil
    }

    /// Records that the store has written the plan; `made` is `nil` if the insertion found that
    /// the id is taken.
    package mutating func end(_ plan: PostPlan, _ made: (reach: Reach, hasWork: Bool)?) {
        self.outcomes[plan.index] = made.map { .stored($0.reach, hasWork: $0.hasWork) } ?? .idTaken
    }

    /// The audit's records of the stored posts.
    package var records: [AuditRecord] {
        zip(self.posts, self.outcomes).compactMap { post, outcome in
            if case .stored = outcome { post.record } else { nil }
        }
    }

    private func refusal(
        of post: NewNotification,
        _ facts: inout some PostFacts,
        _ recipients: inout Set<Int64>
    ) throws -> PostOutcome? {
        // If a post's id was taken, none of the later posts is stored. So the caller can repeat
        // that post and the later ones in their order.
        if self.outcomes.last == .idTaken { return .idTaken }
        if let request = post.options.request, let earlier = try facts.earlier(request) {
            return try earlier.outcome(of: request)
        }
        if let bounds {
            let usage = try facts.usage(of: post.sender)
            if let excess = bounds.excess(usage, adding: post.sealedPayload.count) { return .tooMuch(excess) }
        }
        for user in post.audience.users {
            let named = try facts.user(withKey: user.key)
            guard let named, let id = named.id(in: post.audience.audience.app) else { return .unknownUser(user.name) }
            if named.requiresEncryption, !post.options.isEndToEnd { return .encryptionRequired(user.name) }
            recipients.insert(id)
        }
        return facts.isTaken(post.id) ? .idTaken : nil
    }
}

/// A post that the store must write. Its insertion may still find that the id is taken.
package struct PostPlan: Sendable {
    /// The index of the post among its caller's posts.
    package let index: Int
    package let post: NewNotification
    /// The users whom the post names, and who therefore become recipients.
    package let recipients: Set<Int64>
    /// The idempotency keys that are stored with the post.
    package let requests: [IdempotentRequest]
}

/// The facts that decide about posts. A store reads each fact when it is needed, or all facts in
/// advance.
package protocol PostFacts {
    /// The row of an earlier request with the same idempotency key. The earlier request may belong
    /// to this transaction.
    mutating func earlier(_ request: IdempotentRequest) throws -> StoredRequest?

    /// How much a sender has stored, including the posts of this transaction.
    mutating func usage(of sender: Int64) throws -> Usage

    /// The user whose name has this keyed hash.
    mutating func user(withKey key: Data) throws -> NamedUser?

    /// Whether the id is known to be in use. Even if this is `false`, the insertion may find that
    /// the id is in use.
    func isTaken(_ id: NotificationID) -> Bool
}

/// A user whom the audience of a post names.
package struct NamedUser: Sendable, Hashable {
    package let id: Int64
    private let apps: Set<AppName>
    /// Whether the user gets only end-to-end encrypted payloads.
    package let requiresEncryption: Bool

    package init(id: Int64, apps: Set<AppName>, requiresEncryption: Bool) {
        (self.id, self.apps, self.requiresEncryption) = (id, apps, requiresEncryption)
    }

    /// The user's id if the user may receive notifications of this app; otherwise `nil`.
    package func id(in app: AppName) -> Int64? { self.apps.contains(app) ? self.id : nil }
}
