internal import Foundation
internal import Synchronization

/// For each connection, the provider token in use and the time at which its use began.
///
/// Apple allows a connection a new token every twenty minutes.
final class ProviderTokenUpdates: Sendable {
    private struct Use {
        let token: String
        let since: Date
    }

    private static let shortestLife: TimeInterval = 20 * 60
    /// The largest number of connections in `uses`; one more connection evicts them all.
    private static let limit = 10_000

    // A lock protects `uses`. The lock is held only briefly.
    private let uses = Mutex<[Int: Use]>([:])

    /// Throws `TooManyProviderTokenUpdates` if the connection has used another token for less than
    /// twenty minutes.
    func check(_ token: String, on connection: Int, now: Date) throws(APNsRefusal) {
        let isAllowed = self.uses.withLock { uses in
            if let use = uses[connection], use.token != token {
                guard now.timeIntervalSince(use.since) >= Self.shortestLife else { return false }
            } else if uses[connection] != nil {
                return true
            }
            if uses.count >= Self.limit { uses.removeAll() }
            uses[connection] = Use(token: token, since: now)
            return true
        }
        if !isAllowed { throw APNsRefusal(.tooManyProviderTokenUpdates) }
    }
}
