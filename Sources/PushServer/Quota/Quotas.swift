internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// A user's allowance, with the quota of its role. Without a quota nothing is charged, and there
/// is no state.
struct CallerQuota: Sendable {
    let source: RoleQuota
    let allowance: Allowance

    /// The number of requests that a full quota admits at once; `nil`: no limit.
    var most: Int? { self.source.policy?.requests }

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

/// The quotas of one kind for all roles, and the allowances of users. The server looks them up
/// only for credentials that are not cached.
final class Quotas: Sendable {
    fileprivate struct Allowances {
        var ofUsers: [Int64: Allowance] = [:]
        /// The number of allowances at which the unneeded ones are dropped.
        var limit = 1024
    }

    /// The detail of the problem for a user who stores too often.
    static let changesAreUsedUp = "too many changes within a day; requests that only read are answered"

    private let kind: Quota.Kind
    private let sources: [Role: RoleQuota]
    private let allowances = Mutex(Allowances())

    /// A role without a quota has no limit.
    init(_ quotas: [Role: Quota], kind: Quota.Kind = .requests, servers: ServerCount = ServerCount()) {
        self.kind = kind
        self.sources = Dictionary(
            uniqueKeysWithValues: Role.allCases.map {
                ($0, RoleQuota(quotas[$0]?.part(kind), role: $0, servers: servers))
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
        let made = Allowance()
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
