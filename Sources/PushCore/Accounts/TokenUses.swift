package import Foundation
internal import Synchronization

/// The times at which tokens were last used. They stay in memory until a store writes them. A
/// crash can lose them, which is harmless, since nobody relies on exact times.
///
/// One lock suffices for all event loops, because each of them adds the same token only once in
/// some minutes.
package final class TokenUses: Sendable {
    /// The maximum number of tokens whose use waits to be stored. A use of a further token is not
    /// recorded. That token's next use, some minutes later, may be recorded.
    private static let limit = 100_000

    package typealias Use = (token: TokenPrefix, at: Date)

    private let uses = Mutex<[TokenPrefix: Date]>([:])

    package init() {}

    package func record(_ token: TokenPrefix, now: Date) {
        self.uses.withLock { uses in
            if uses.count < Self.limit || uses[token] != nil { uses[token] = now }
        }
    }

    /// Passes the next uses to `body`, and puts them back if `body` throws. Returns the number of
    /// uses.
    package func write(_ limit: Int, _ body: ([Use]) async throws -> Void) async throws -> Int {
        let uses = self.take(limit)
        if uses.isEmpty { return 0 }
        do {
            try await body(uses)
        } catch {
            self.giveBack(uses)
            throw error
        }
        return uses.count
    }

    package func take(_ limit: Int) -> [Use] {
        self.uses.withLock { uses in
            let taken = uses.prefix(limit).map { (token: $0.key, at: $0.value) }
            for use in taken { uses[use.token] = nil }
            return taken
        }
    }

    /// Puts back uses that could not be stored. If a newer use of the same token was added
    /// meanwhile, the newer one stays.
    package func giveBack(_ taken: [Use]) {
        self.uses.withLock { uses in
            for use in taken where uses[use.token] == nil { uses[use.token] = use.at }
        }
    }
}
