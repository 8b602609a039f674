internal import Foundation
internal import Synchronization

/// The time when expired notifications were last deleted. After a deletion, no row shows any more
/// when these notifications expired.
final class RemovalClock: Sendable {
    private let time = Mutex<Date?>(nil)

    var latest: Date? { self.time.withLock { $0 } }

    /// Records a deletion. This must be called before the deletion is committed, so that no reader
    /// sees the deletion without its time.
    func record(_ now: Date) {
        self.time.withLock { $0 = max($0 ?? now, now) }
    }
}
