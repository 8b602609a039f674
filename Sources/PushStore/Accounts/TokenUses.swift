package import Foundation
package import PushCore
internal import Synchronization

/// The times at which tokens were last used, until they are written. A crash loses them, since
/// nobody relies on the minute.
///
/// A lock protects them, since every event loop adds uses; each token is added only once in some
/// minutes.
package final class TokenUses: Sendable {
    /// The largest number of tokens. Above it a use is not recorded, but a use some minutes later
    /// will be.
    private static let limit = 100_000

    private let uses = Mutex<[TokenPrefix: Date]>([:])

    package init() {}

    package func record(_ token: TokenPrefix, now: Date) {
        self.uses.withLock { uses in
            if uses.count < Self.limit || uses[token] != nil { uses[token] = now }
        }
    }

    package func take(_ limit: Int) -> [(token: TokenPrefix, at: Date)] {
        self.uses.withLock { uses in
            let taken = uses.prefix(limit).map { (token: $0.key, at: $0.value) }
            for use in taken { uses[use.token] = nil }
            return taken
        }
    }

    /// Adds uses again that could not be written; a use that was added meanwhile is later, and
    /// stays.
    package func giveBack(_ taken: [(token: TokenPrefix, at: Date)]) {
        self.uses.withLock { uses in
            for use in taken where uses[use.token] == nil { uses[use.token] = use.at }
        }
    }
}
