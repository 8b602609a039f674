internal import HeapModule

/// A deadline on a loop. Moving it costs no more than setting a stored property.
///
/// The loop's queue contains at most a few entries for a timer. If the deadline was moved to a
/// later time, its entry becomes due too early, and is then inserted again. Use the timer on the
/// loop only.
package final class LoopTimer {
    private let loop: EventLoop
    private let action: () -> Void
    // The flags are apart from the instants, because an optional instant is slow to copy.
    private var isArmed = false
    @exclusivity(unchecked) private var deadline = ContinuousClock.now
    private var hasEntry = false
    /// If the timer has an entry in the loop's queue, the time of the earliest one.
    @exclusivity(unchecked) private var earliestEntry = ContinuousClock.now

    fileprivate private(set) var isAbandoned = false

    package init(loop: EventLoop, action: @escaping () -> Void) {
        self.loop = loop
        self.action = action
    }

    /// Sets the deadline, replacing an earlier one.
    package func arm(at deadline: ContinuousClock.Instant) {
        self.isArmed = true
        self.deadline = deadline
        if self.hasEntry, self.earliestEntry <= deadline { return }
        self.hasEntry = true
        self.earliestEntry = deadline
        self.loop.insert(self, at: deadline)
    }

    package func disarm() {
        self.isArmed = false
    }

    /// Disarms the timer for good, so that the loop need not keep the timer until a deadline that
    /// no longer matters.
    package func abandon() {
        self.isArmed = false
        guard !self.isAbandoned else { return }
        self.isAbandoned = true
        if self.hasEntry { self.loop.abandonTimer() }
    }

    fileprivate func entryIsDue(_ entry: ContinuousClock.Instant) {
        if self.hasEntry, entry == self.earliestEntry { self.hasEntry = false }
        guard self.isArmed else { return }
        // The deadline is compared with the entry's time, and not with the current time.
        // Otherwise, on a loop that is late, this timer could overtake timers that are due before
        // it.
        if self.deadline <= entry {
            self.isArmed = false
            self.action()
        } else {
            self.arm(at: self.deadline)
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
    /// The deadline of the earliest entry, if there is one. It is stored apart, because each turn
    /// of the loop needs it, and the heap would copy the whole entry.
    private var earliest = ContinuousClock.now
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
        self.findEarliest()
    }

    mutating func insert(_ timer: LoopTimer, at due: ContinuousClock.Instant) {
        if self.entries.isEmpty || due < self.earliest { self.earliest = due }
        self.entries.insert(Entry(due: due, timer: timer))
    }

    mutating func takeDue(now: ContinuousClock.Instant) -> (() -> Void)? {
        guard !self.entries.isEmpty, self.earliest <= now else { return nil }
        let first = self.entries.removeMin()
        self.findEarliest()
        return { first.timer.entryIsDue(first.due) }
    }

    /// The number of milliseconds for which epoll may sleep; -1 for no limit. It is rounded up, so
    /// that epoll does not return just before a timer is due. The function changes nothing; it is
    /// `mutating`, since a call would otherwise copy the queue.
    mutating func millisecondsToNext(now: ContinuousClock.Instant) -> Int32 {
        guard !self.entries.isEmpty else { return -1 }
        let wait = self.earliest - now
        guard wait > .zero else { return 0 }
        return Int32(clamping: wait.attoseconds / 1_000_000_000_000_000 + 1)
    }

    private mutating func findEarliest() {
        if let first = self.entries.min { self.earliest = first.due }
    }
}
