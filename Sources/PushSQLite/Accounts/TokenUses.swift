internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// When tokens were last used, until that is written. Lost with a crash, as nobody is promised the minute.
///
/// A lock, since every loop notes here; each token only once in some minutes.
final class TokenUses: Sendable {
    /// Beyond these a use is not noted: that of the next minutes will be.
    private static let bound = 100_000

    private let uses = Mutex<[TokenPrefix: Date]>([:])

    func note(_ token: TokenPrefix, now: Date) {
        self.uses.withLock { uses in
            if uses.count < Self.bound || uses[token] != nil { uses[token] = now }
        }
    }

    func take(_ limit: Int) -> [(token: TokenPrefix, at: Date)] {
        self.uses.withLock { uses in
            let taken = uses.prefix(limit).map { (token: $0.key, at: $0.value) }
            for use in taken { uses[use.token] = nil }
            return taken
        }
    }

    /// Notes uses again that were taken and could not be written; one that was noted meanwhile is later.
    func giveBack(_ taken: [(token: TokenPrefix, at: Date)]) {
        self.uses.withLock { uses in
            for use in taken where uses[use.token] == nil { uses[use.token] = use.at }
        }
    }
}
