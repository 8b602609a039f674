package import Foundation
internal import Synchronization

/// Wakes the loop that sends scheduled notifications, if a new notification is due before the
/// loop's planned check of the store.
package final class ReleaseSchedule: Sendable {
    private let next = Mutex(Date.distantFuture)
    /// Wakes the loop that sends scheduled notifications: it must check the store earlier than it
    /// has planned.
    package let signal = Signal()

    package init() {}

    /// Call this method after a notification that is due at `date` was stored.
    package func record(_ date: Date) {
        let isEarlier = self.next.withLock { next in
            defer { next = min(next, date) }
            return date < next
        }
        if isEarlier { self.signal.set() }
    }

    /// Clears the planned time. The loop calls this method before it checks the store, so that a
    /// time that is recorded during the check wakes the loop again.
    package func begin() {
        self.next.withLock { $0 = .distantFuture }
    }

    /// Plans the next check of the store, for the time at which the next notification is due. The
    /// loop calls this method after it has found this time.
    package func plan(_ date: Date) {
        self.next.withLock { $0 = min($0, date) }
    }
}
