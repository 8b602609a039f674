package import Foundation
internal import Synchronization

/// Tells the one loop that sends scheduled notifications when to look for them again.
package final class ReleaseSchedule: Sendable {
    private let next = Mutex(Date.distantFuture)
    /// Set when the loop must look earlier than it has planned.
    package let signal = Signal()

    package init() {}

    /// Must be called after a notification was stored that is due then.
    package func note(_ date: Date) {
        let isEarlier = self.next.withLock { next in
            defer { next = min(next, date) }
            return date < next
        }
        if isEarlier { self.signal.set() }
    }

    /// Forgets the plan, before the loop looks: a time that is noted while it looks wakes it again.
    package func begin() {
        self.next.withLock { $0 = .distantFuture }
    }

    /// Plans the loop's next look, which has found that the next notification is due then.
    package func plan(_ date: Date) {
        self.next.withLock { $0 = min($0, date) }
    }
}
