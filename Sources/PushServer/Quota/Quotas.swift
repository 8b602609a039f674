internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// A user's allowance, with the quota of the user's role. If the role has no quota, nothing is
/// charged, and the methods return `nil`.
struct CallerQuota: Sendable {
    let source: RoleQuota
    let allowance: Allowance

    /// The number of requests that a full quota admits at once; `nil`: no limit.
    var most: Int? { self.source.policy?.requests }

    func take(now: Date) -> QuotaPolicy.State? {
        guard let policy = self.source.policy else { return nil }
        let state = self.allowance.take(policy, now: now)
        if state.isExceeded { self.source.excess.wrappingAdd(1, ordering: .relaxed) }
        return state
    }

    /// Charges the quota as for `requests` further requests, for example because the answer is a
    /// long list.
    func charge(_ requests: Int, now: Date) {
        guard requests > 0, let policy = self.source.policy else { return }
        self.allowance.charge(requests, policy, now: now)
    }

    func state(now: Date) -> QuotaPolicy.State? {
        self.source.policy.map { self.allowance.state($0, now: now) }
    }
}

/// The quotas of one kind for all roles, and the allowances of users. The server looks up an
/// allowance only for a caller whose credentials are not cached.
final class Quotas: Sendable {
    fileprivate struct Allowances {
        var ofUsers: [Int64: Allowance] = [:]
        /// When there are this many allowances, those that are not needed are removed.
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
                ($0, RoleQuota(quotas[$0]?.part(kind), role: $0, kind: kind, servers: servers))
            }
        )
    }

    /// Replaces the quotas of all roles; this also changes the quotas of cached callers.
    func replaceQuotas(_ quotas: [Role: Quota]) {
        for (role, source) in self.sources { source.replace(with: quotas[role]?.part(self.kind)) }
    }

    /// The quota of a user; all credentials of the user share one allowance on all event loops.
    /// `nil` for a role that cannot have a quota. A user whose role has no quota now gets an
    /// allowance, too, because the role may get one later.
    func quota(ofUser id: Int64, as role: Role, now: Date) -> CallerQuota? {
        guard let source = self.sources[role] else { return nil }
        return CallerQuota(source: source, allowance: self.allowances.withLock { $0.allowance(of: id, now: now) })
    }

    /// The metrics: for each role, the number of requests that these quotas and the quotas in
    /// `changes` have refused.
    func samples(with changes: Quotas) -> [MetricSample] {
        self.sources.compactMap { role, source in
            let sources = [source, changes.sources[role]].compactMap(\.self)
            let count = sources.reduce(0) { $0 + $1.excess.load(ordering: .relaxed) }
            // A count that the metrics have shown must not disappear if the role's quota is
            // removed.
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

    /// Whether a user's allowance can be removed. It must be full, and no cached caller may refer
    /// to it: otherwise the user would get a second allowance.
    private mutating func isUnneeded(_ user: Int64, now: Date) -> Bool {
        guard let allowance = self.ofUsers.index(forKey: user) else { return false }
        return isKnownUniquelyReferenced(&self.ofUsers.values[allowance])
            && self.ofUsers.values[allowance].isFull(at: now)
    }
}
