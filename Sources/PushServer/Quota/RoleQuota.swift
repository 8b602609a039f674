internal import PushCore
internal import PushStore
internal import Synchronization

/// The quota of a role. Cached callers refer to this object, whose quota can be replaced at any
/// time without a lock.
final class RoleQuota: Sendable {
    private static let windowBits: UInt64 = 17

    private let role: Role
    let kind: Quota.Kind
    private let servers: ServerCount
    /// The number of refused requests, including those under earlier quotas.
    let excess = Atomic(0)
    /// The quota's number of requests and its window in one word, so that no request sees a
    /// mixture of two quotas. 0 means no limit.
    private let word: Atomic<UInt64>

    init(_ quota: Quota?, role: Role, kind: Quota.Kind = .requests, servers: ServerCount = ServerCount()) {
        self.kind = kind
        self.role = role
        self.servers = servers
        self.word = Atomic(Self.word(quota))
    }

    /// The quota as this server applies it; `nil` if the role has no limit.
    var policy: QuotaPolicy? {
        let word = self.word.load(ordering: .relaxed)
        let quota = Quota(
            requests: Int(word >> Self.windowBits),
            window: Int(word & (1 << Self.windowBits - 1))
        )
        return quota.map { QuotaPolicy($0, self.kind, of: self.role, servers: self.servers.current) }
    }

    /// Replaces the quota; the new one applies to each request that begins later. The part of the
    /// quota that a user has used stays used.
    func replace(with quota: Quota?) {
        self.word.store(Self.word(quota), ordering: .relaxed)
    }

    /// Because of the ranges of `Quota`, a window has at most 17 bits, and a number of requests at
    /// most 27.
    private static func word(_ quota: Quota?) -> UInt64 {
        quota.map { UInt64($0.requests) << Self.windowBits | UInt64($0.window) } ?? 0
    }
}
