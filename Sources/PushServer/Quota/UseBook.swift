internal import PushStore
internal import Synchronization

/// The users who have used so much of their quotas here that the other servers must know.
///
/// A user is listed after `lot(of:)` requests, not after each: a crowd of users who each fetch
/// once is not reported.
final class UseBook: Sendable {
    /// This part of the quota, divided by the number of servers, is the size of `lot(of:)`. So all
    /// unreported use on all servers is at most this part.
    private static let part = 16
    /// The assumed number of servers before the first exchange.
    private static let usual = 4
    private static let maximum = 64

    private typealias Entry = (allowance: Allowance, policy: QuotaPolicy)

    private let servers = Atomic(usual)
    private let listed = Mutex<[Entry]>([])

    /// The number of live servers, at most 64.
    var serverCount: Int { self.servers.load(ordering: .relaxed) }

    func record(servers: Int) {
        self.servers.store(max(1, min(servers, Self.maximum)), ordering: .relaxed)
    }

    /// The number of a user's requests after which the other servers must know.
    func lot(of policy: QuotaPolicy) -> Int {
        max(1, Int(policy.tolerance / policy.interval) / (Self.part * self.serverCount))
    }

    /// Lists an allowance. Each user is listed at most once at a time.
    func list(_ allowance: Allowance, _ policy: QuotaPolicy) {
        self.listed.withLock { $0.append((allowance, policy)) }
    }

    /// Removes and returns the use to report, of at most `QuotaUse.limit` users; the next call
    /// returns the others.
    func take() -> [QuotaUse] {
        let entries = self.listed.withLock { listed in
            let taken = Array(listed.prefix(QuotaUse.limit))
            listed.removeFirst(taken.count)
            return taken
        }
        return entries.compactMap { entry in
            let requests = entry.allowance.takeUnreported()
            guard requests > 0 else { return nil }
            let source = entry.policy.source
            return QuotaUse(user: entry.allowance.user, role: source.role, kind: source.kind, requests: requests)
        }
    }
}

extension QuotaPolicy {
    /// The largest use, with debt: a quota for each server, and two if there is one server.
    var most: Int64 { self.tolerance * Int64(max(2, self.book?.serverCount ?? 1)) }
}
