internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// A user's allowance, with the quota of its role. Without a quota nothing is charged, and there
/// is no state.
struct CallerQuota: Sendable {
    let source: RoleQuota
    let allowance: Allowance

    func take(now: Date) -> QuotaPolicy.State? {
        self.source.policy.map { self.allowance.take($0, now: now) }
    }

    /// Charges additional requests for one that was admitted.
    func charge(_ requests: Int, now: Date) {
        guard requests > 0, let policy = self.source.policy else { return }
        self.allowance.charge(requests, policy, now: now)
    }

    func state(now: Date) -> QuotaPolicy.State? {
        self.source.policy.map { self.allowance.state($0, now: now) }
    }
}

/// The quotas of all roles of one kind, and the allowances of users. The server uses it only for
/// credentials that are not cached.
final class Quotas: Sendable {
    fileprivate struct Allowances {
        var ofUsers: [Int64: Allowance] = [:]
        /// The number of allowances at which the unneeded ones are dropped.
        var limit = 1024
    }

    /// The detail of the problem for a user who stores too often.
    static let changesAreUsedUp = "too many changes within a day; requests that only read are answered"

    private let kind: QuotaUse.Kind
    private let sources: [Role: RoleQuota]
    private let allowances = Mutex(Allowances())
    /// The use that the other servers must know; `nil`: there are no others.
    private let book: UseBook?

    /// A role without a quota has no limit.
    init(_ quotas: [Role: Quota], kind: QuotaUse.Kind = .requests, scope: LimitScope = .process) {
        self.kind = kind
        let book: UseBook? = scope == .servers ? UseBook() : nil
        self.book = book
        self.sources = Dictionary(
            uniqueKeysWithValues: Role.allCases.map {
                ($0, RoleQuota(quotas[$0]?.part(kind), role: $0, kind: kind, book: book))
            }
        )
    }

    /// Replaces the quotas of all roles, also for cached callers.
    func replaceQuotas(_ quotas: [Role: Quota]) {
        for (role, source) in self.sources { source.replace(with: quotas[role]?.part(self.kind)) }
    }

    /// The quota of a user, with one allowance for all of its credentials on all loops; `nil` for
    /// a role that can have none. A role whose quota is off for now has an allowance, too.
    func quota(ofUser id: Int64, as role: Role, now: Date) -> CallerQuota? {
        guard let source = self.sources[role] else { return nil }
        return CallerQuota(source: source, allowance: self.allowances.withLock { $0.allowance(of: id, now: now) })
    }

    /// Counts the requests that these quotas and those of changes have refused.
    func samples(with changes: Quotas) -> [MetricSample] {
        self.sources.compactMap { role, source in
            let sources = [source, changes.sources[role]].compactMap(\.self)
            let count = sources.reduce(0) { $0 + $1.excess.load(ordering: .relaxed) }
            // A count that was shown once must not disappear with the quota.
            guard count > 0 || sources.contains(where: { $0.policy != nil }) else { return nil }
            return MetricSample(.requestsLimited, ["role": role.rawValue], Double(count))
        }
    }
}

extension Quotas.Allowances {
    fileprivate mutating func allowance(of user: Int64, now: Date) -> Allowance {
        if let found = self.ofUsers[user] { return found }
        if self.ofUsers.count >= self.limit {
            for user in Array(self.ofUsers.keys) where self.isUnneeded(user, now: now) { self.ofUsers[user] = nil }
            self.limit = max(1024, self.ofUsers.count * 2)
        }
        let made = Allowance(user: user)
        self.ofUsers[user] = made
        return made
    }

    /// Whether the allowance can be dropped. A cached caller may still hold a full one: if it were
    /// dropped, the user would get a second one.
    private mutating func isUnneeded(_ user: Int64, now: Date) -> Bool {
        guard let allowance = self.ofUsers.index(forKey: user) else { return false }
        return isKnownUniquelyReferenced(&self.ofUsers.values[allowance])
            && self.ofUsers.values[allowance].isFull(at: now)
    }
}

extension Quotas: SharedLimit {
    func takeNews(into news: inout LimitNews, now: Date) {
        if let book { news.uses += book.take() }
    }

    func apply(_ answer: LimitAnswer, now: Date) {
        self.book?.record(servers: answer.servers)
        for message in answer.messages where message.age < QuotaUse.lifetime {
            for use in message.news?.uses ?? [] where use.kind == self.kind {
                // The servers may have different quotas while the configuration changes.
                guard let policy = self.sources[use.role]?.policy,
                    let quota = self.quota(ofUser: use.user, as: use.role, now: now)
                else { continue }
                quota.allowance.chargeElsewhere(use.requests, policy, now: now)
            }
        }
    }
}
