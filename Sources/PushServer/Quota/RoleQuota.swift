internal import PushCore
internal import PushStore
internal import Synchronization

/// The quota of a role. Cached callers refer to this object, whose quota can be replaced at any
/// time without a lock.
final class RoleQuota: Sendable {
    private static let windowBits: UInt64 = 17

    /// The role's name in quotes, for response fields.
    let name: [UInt8]
    let servers: ServerCount
    /// The number of refused requests, including those under earlier quotas.
    let excess = Atomic(0)
    /// The requests and the window of the quota in one word, so that no request sees a mixture of
    /// two quotas; 0: no limit.
    private let word: Atomic<UInt64>

    init(_ quota: Quota?, role: Role, servers: ServerCount = ServerCount()) {
        self.name = Array("\"\(role.rawValue)\"".utf8)
        self.servers = servers
        self.word = Atomic(Self.word(quota))
    }

    /// `nil`: no limit.
    var policy: QuotaPolicy? {
        let word = self.word.load(ordering: .relaxed)
        let quota = Quota(
            requests: Int(word >> Self.windowBits),
            window: Int(word & (1 << Self.windowBits - 1))
        )
        return quota.map { QuotaPolicy($0, of: self) }
    }

    /// Replaces the quota for each request that begins afterwards. Users keep what they have used.
    func replace(with quota: Quota?) {
        self.word.store(Self.word(quota), ordering: .relaxed)
    }

    /// Windows have at most 17 bits, and requests 27: see the ranges.
    private static func word(_ quota: Quota?) -> UInt64 {
        quota.map { UInt64($0.requests) << Self.windowBits | UInt64($0.window) } ?? 0
    }
}
