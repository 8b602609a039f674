internal import PushStore

/// A post that may be stored in one transaction with those of others.
struct PostMember: GroupMember {
    let post: PreparedPost
    let bounds: StorageBounds?
    /// When its caller was found; another caller's task may store it.
    let term = CredentialLease.admission

    var byteCount: Int { self.post.notification.sealedPayload.count }
}

/// What became of a post in a group.
enum PostEnd: GroupEnd {
    case outcome(PostOutcome)
    case failed(StoreError)
    /// The caller has to store it by itself, beginning with this run. `last`: its outcome in a transaction of the group whose
    /// commit may or may not have been done.
    case alone(PostBatch.Run, last: PostOutcome?)

    var failure: StoreError? { if case .failed(let error) = self { error } else { nil } }
}

extension GroupLimits {
    /// While one group waits for the disk, the other one's statements run.
    static let posts = GroupLimits(groups: 2, members: 200, bytes: 4 << 20, waiting: 4096)
}
