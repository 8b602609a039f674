internal import PushStore
internal import Synchronization

/// Which users have used so much of their quotas here that the other servers must know.
///
/// A user comes in with a lot of requests, not with each: a herd that fetches once is told to nobody.
final class UseBook: Sendable {
    /// A lot is this part of the quota, divided by the number of servers: all that is untold on all of them is at most this part.
    private static let part = 16
    /// How many servers there may be before the first exchange.
    private static let usual = 4
    private static let maximum = 64

    private typealias Entry = (allowance: Allowance, policy: QuotaPolicy)

    private let servers = Atomic(usual)
    private let listed = Mutex<[Entry]>([])

    /// How many servers are alive, at most 64.
    var serverCount: Int { self.servers.load(ordering: .relaxed) }

    func note(servers: Int) {
        self.servers.store(max(1, min(servers, Self.maximum)), ordering: .relaxed)
    }

    /// After how many requests of a user the others are told.
    func lot(of policy: QuotaPolicy) -> Int {
        max(1, Int(policy.tolerance / policy.interval) / (Self.part * self.serverCount))
    }

    /// Each user is in it at most once at a time.
    func list(_ allowance: Allowance, _ policy: QuotaPolicy) {
        self.listed.withLock { $0.append((allowance, policy)) }
    }

    /// Removes and returns what must be told, at most `QuotaUse.bound`; what the rest has used is told next time.
    func take() -> [QuotaUse] {
        let entries = self.listed.withLock { listed in
            let taken = Array(listed.prefix(QuotaUse.bound))
            listed.removeFirst(taken.count)
            return taken
        }
        return entries.compactMap { entry in
            let requests = entry.allowance.takeUntold()
            guard requests > 0 else { return nil }
            let source = entry.policy.source
            return QuotaUse(user: entry.allowance.user, role: source.role, kind: source.kind, requests: requests)
        }
    }
}

extension QuotaPolicy {
    /// The most that may be used, a debt included: a quota for each server, and two if there is one.
    var most: Int64 { self.tolerance * Int64(max(2, self.book?.serverCount ?? 1)) }
}
