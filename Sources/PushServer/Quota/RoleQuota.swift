internal import PushCore
internal import PushStore
internal import Synchronization

/// The quota of a role. It can be replaced at any time without a lock: cached callers refer to it.
final class RoleQuota: Sendable {
    private static let windowBits: UInt64 = 17

    let role: Role
    let kind: QuotaUse.Kind
    /// The role's name in quotes, for response fields.
    let name: [UInt8]
    /// Lists the use that the other servers must know; `nil`: there are no others.
    let book: UseBook?
    /// The number of refused requests, including those under earlier quotas.
    let excess = Atomic(0)
    /// Both numbers in one word, so that no request sees a mixture of two quotas; 0: no limit.
    private let word: Atomic<UInt64>

    init(_ quota: Quota?, role: Role, kind: QuotaUse.Kind = .requests, book: UseBook? = nil) {
        self.role = role
        self.kind = kind
        self.name = Array("\"\(role.rawValue)\"".utf8)
        self.book = book
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
