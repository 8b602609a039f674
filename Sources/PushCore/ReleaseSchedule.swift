package import Foundation
internal import Synchronization

/// Wakes the one loop that sends scheduled notifications, when the loop must check the store for
/// due notifications again.
package final class ReleaseSchedule: Sendable {
    private let next = Mutex(Date.distantFuture)
    /// The signal that the loop must check the store earlier than it has planned.
    package let signal = Signal()

    package init() {}

    /// Call it after storing a notification that is due at `date`.
    package func record(_ date: Date) {
        let isEarlier = self.next.withLock { next in
            defer { next = min(next, date) }
            return date < next
        }
        if isEarlier { self.signal.set() }
    }

    /// Clears the planned time before the loop checks the store: a time that is recorded during
    /// the check wakes the loop again.
    package func begin() {
        self.next.withLock { $0 = .distantFuture }
    }

    /// Plans the loop's next check, after the loop has found the time at which the next
    /// notification is due.
    package func plan(_ date: Date) {
        self.next.withLock { $0 = min($0, date) }
    }
}
