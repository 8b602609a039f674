package import Foundation
package import PushCore
internal import Synchronization

/// The times at which tokens were last used, kept in memory until a store writes them. A crash may
/// lose them: nobody relies on the exact minute.
///
/// A lock protects them, since every event loop adds uses; each token is added only once in some
/// minutes.
package final class TokenUses: Sendable {
    /// The largest number of tokens whose uses wait. Above it, the use of a further token is not
    /// recorded; its next use, some minutes later, may be.
    private static let limit = 100_000

    package typealias Use = (token: TokenPrefix, at: Date)

    private let uses = Mutex<[TokenPrefix: Date]>([:])

    package init() {}

    package func record(_ token: TokenPrefix, now: Date) {
        self.uses.withLock { uses in
            if uses.count < Self.limit || uses[token] != nil { uses[token] = now }
        }
    }

    /// Passes the next uses to `body`, and keeps them if it throws; returns their number.
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

    /// Adds uses that could not be written. If a newer use of the same token was added meanwhile,
    /// the newer one stays.
    package func giveBack(_ taken: [Use]) {
        self.uses.withLock { uses in
            for use in taken where uses[use.token] == nil { uses[use.token] = use.at }
        }
    }
}
