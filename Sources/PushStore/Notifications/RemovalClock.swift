package import Foundation
internal import Synchronization

/// The time of the last deletion of expired notifications. After a deletion, no row shows any more
/// when the notifications expired.
package final class RemovalClock: Sendable {
    private let time = Mutex<Date?>(nil)

    package init() {}

    package var latest: Date? { self.time.withLock { $0 } }

    /// Must be called before the deletion is committed, so that no reader sees the deletion
    /// without its time.
    package func record(_ now: Date) {
        self.time.withLock { $0 = max($0 ?? now, now) }
    }
}
