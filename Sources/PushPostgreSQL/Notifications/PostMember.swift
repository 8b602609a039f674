internal import PushCore
internal import PushStore

/// The posts of one caller, in their order, with the options of its request.
struct PostMember: GroupMember {
    let posts: [NewNotification]
    /// The idempotency key of a batch, which covers all its posts.
    let batch: IdempotentRequest?
    let bounds: StorageBounds?
    /// The number of devices in a page; `nil`: the store's default.
    let page: Int?
    /// The term of the `CredentialLease` in which the caller's request began; a term ends when the
    /// lease expires. It is stored here, since another caller's task may store these posts.
    let term = CredentialLease.admission

    var byteCount: Int { self.posts.reduce(0) { $0 + $1.sealedPayload.count } }

    /// Whether the posts may share a transaction with other callers' posts. A group first locks
    /// the accounts and the counters of changes of the named users. So its posts must need no
    /// earlier lock.
    var joinsOthers: Bool { self.batch == nil && self.posts.count == 1 && self.isDirect(self.posts[0]) }

    /// Whether a post goes now, and goes to exactly the devices of the users whom it names.
    func isDirect(_ post: NewNotification) -> Bool {
        let audience = post.audience.audience
        return self.page == nil && post.sendAt == nil && post.collapseID == nil
            && audience.platforms == nil && !audience.expressions.isEmpty
            && audience.usernames.count == audience.expressions.count
    }

    /// The requests with an idempotency key, each with the notification that it stores.
    var requests: [IdempotencyKeys.Reserved] {
        let own = self.posts.compactMap { post in post.request.map { ($0, post) } }
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

extension GroupLimits {
    /// The limits for groups of posts. There are two groups: while one of them waits for the disk,
    /// the other executes statements.
    static let posts = GroupLimits(groups: 2, members: 200, bytes: 4 << 20, waiting: 4096)
}
