internal import PushCore
internal import PushStore

/// The posts of one caller, in their order, with the facts of its request.
struct PostMember: GroupMember {
    let posts: [NewNotification]
    /// The request that contains all posts.
    let batch: IdempotentRequest?
    let bounds: StorageBounds?
    /// The number of devices of a page; `nil`: the store's own.
    let page: Int?
    /// The term of the credential lease when its caller's request began; another caller's task may
    /// store the posts.
    let term = CredentialLease.admission

    var byteCount: Int { self.posts.reduce(0) { $0 + $1.sealedPayload.count } }

    /// Whether the member may share a transaction with others. Such a member locks nothing before
    /// the counters of its users, which a group locks first.
    var joinsOthers: Bool { self.batch == nil && self.posts.count == 1 && self.isDirect(self.posts[0]) }

    /// Whether a post goes now to all devices of users whom it names, and to no others.
    func isDirect(_ post: NewNotification) -> Bool {
        let audience = post.audience.audience
        return self.page == nil && post.sendAt == nil && post.collapseID == nil
            && audience.platforms == nil && !audience.expressions.isEmpty
            && audience.usernames.count == audience.expressions.count
    }

    /// The idempotent requests, each with the notification that it stores.
    var requests: [IdempotencyKeys.Reserved] {
        let own = self.posts.compactMap { post in post.request.map { ($0, post) } }
        guard let batch, let first = self.posts.first else { return own }
        return [(batch, first)] + own
    }
}

/// The outcome of a group's work for one member.
enum PostEnd: GroupEnd {
    case outcomes([PostOutcome])
    case failed(StoreError)
    /// The caller must store its posts itself, beginning with this run. `last`: their outcomes in
    /// a transaction of the group whose commit may have succeeded.
    case alone(PostGroup.Run, last: [PostOutcome]?)

    var failure: StoreError? { if case .failed(let error) = self { error } else { nil } }
}

extension GroupLimits {
    /// There are two groups: while one waits for the disk, the statements of the other run.
    static let posts = GroupLimits(groups: 2, members: 200, bytes: 4 << 20, waiting: 4096)
}
