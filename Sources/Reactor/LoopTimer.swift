internal import HeapModule

/// A deadline on a loop. Moving it costs no more than setting a stored property.
///
/// The loop's queue contains at most a few entries for a timer. If the deadline was moved to a
/// later time, its entry becomes due too early, and is then inserted again. Use the timer on the
/// loop only.
package final class LoopTimer {
    private let loop: EventLoop
    private let action: () -> Void
    @exclusivity(unchecked) private var deadline: ContinuousClock.Instant?
    @exclusivity(unchecked) private var earliestEntry: ContinuousClock.Instant?

    fileprivate private(set) var isAbandoned = false

    package init(loop: EventLoop, action: @escaping () -> Void) {
        self.loop = loop
        self.action = action
    }

    /// Sets the deadline, replacing an earlier one.
    package func arm(at deadline: ContinuousClock.Instant) {
        self.deadline = deadline
        if let earliestEntry, earliestEntry <= deadline { return }
        self.earliestEntry = deadline
        self.loop.insert(self, at: deadline)
    }

    package func disarm() {
        self.deadline = nil
    }

    /// Disarms the timer for good, so that the loop need not keep the timer until a deadline that
    /// no longer matters.
    package func abandon() {
        self.deadline = nil
        guard !self.isAbandoned else { return }
        self.isAbandoned = true
        if self.earliestEntry != nil { self.loop.abandonTimer() }
    }

    fileprivate func entryIsDue(_ entry: ContinuousClock.Instant) {
        if entry == self.earliestEntry { self.earliestEntry = nil }
        guard let deadline else { return }
        // The deadline is compared with the entry's time, and not with the current time.
        // Otherwise, on a loop that is late, this timer could overtake timers that are due before
        // it.
        if deadline <= entry {
            self.deadline = nil
            self.action()
        } else {
            self.arm(at: deadline)
        }
    }
}

/// The timers of a loop, earliest first.
struct TimerQueue {
    private struct Entry: Comparable {
        let due: ContinuousClock.Instant
        let timer: LoopTimer

        static func < (lhs: Entry, rhs: Entry) -> Bool { lhs.due < rhs.due }
        static func == (lhs: Entry, rhs: Entry) -> Bool { lhs.due == rhs.due }
    }

    private var entries = Heap<Entry>()
    /// The number of abandoned timers that may still have entries.
    private var abandoned = 0

    var count: Int { self.entries.count }

    /// Counts one more abandoned timer. If the entries of abandoned timers are half of all
    /// entries, removes them. Each closed connection leaves several such entries.
    mutating func abandonOne() {
        self.abandoned += 1
        guard self.abandoned >= 64, self.abandoned * 2 >= self.entries.count else { return }
        self.entries = Heap(self.entries.unordered.filter { !$0.timer.isAbandoned })
        self.abandoned = 0
    }

    mutating func insert(_ timer: LoopTimer, at due: ContinuousClock.Instant) {
        self.entries.insert(Entry(due: due, timer: timer))
    }

    mutating func takeDue(now: ContinuousClock.Instant) -> (() -> Void)? {
        guard let first = self.entries.min, first.due <= now else { return nil }
        self.entries.removeMin()
        return { first.timer.entryIsDue(first.due) }
    }

    /// The number of milliseconds for which epoll may sleep; -1 for no limit. It is rounded up, so
    /// that epoll does not return just before a timer is due.
    func millisecondsToNext(now: ContinuousClock.Instant) -> Int32 {
        guard let first = self.entries.min else { return -1 }
        let wait = first.due - now
        guard wait > .zero else { return 0 }
        return Int32(clamping: wait.attoseconds / 1_000_000_000_000_000 + 1)
    }
}
