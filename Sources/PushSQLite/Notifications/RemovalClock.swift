internal import Foundation
internal import Synchronization

/// When something that had expired was last deleted, after which no row tells the time of its end any more.
final class RemovalClock: Sendable {
    private let time = Mutex<Date?>(nil)

    var latest: Date? { self.time.withLock { $0 } }

    /// Before the deletion is committed, so that nobody sees it without its time.
    func note(_ now: Date) {
        self.time.withLock { $0 = max($0 ?? now, now) }
    }
}
