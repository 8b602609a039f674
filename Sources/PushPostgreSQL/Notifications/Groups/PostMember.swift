internal import PushStore

/// A post that may be stored in one transaction with posts of other callers.
struct PostMember: GroupMember {
    let post: NewPost
    let bounds: StorageBounds?
    /// The term of the credential lease when its caller's request began; another caller's task may
    /// store the post.
    let term = CredentialLease.admission

    var byteCount: Int { self.post.notification.sealedPayload.count }
}

/// The end of a post in a group.
enum PostEnd: GroupEnd {
    case outcome(PostOutcome)
    case failed(StoreError)
    /// The caller must store the post itself, beginning with this run. `last`: its outcome in a
    /// transaction of the group whose commit may have succeeded.
    case alone(PostBatch.Run, last: PostOutcome?)

    var failure: StoreError? { if case .failed(let error) = self { error } else { nil } }
}

extension GroupLimits {
    /// While one group waits for the disk, the other group's statements run.
    static let posts = GroupLimits(groups: 2, members: 200, bytes: 4 << 20, waiting: 4096)
}
