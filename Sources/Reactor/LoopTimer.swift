internal import HeapModule

/// A deadline on a loop. Moving it costs no more than setting a stored property.
///
/// The loop's queue holds at most a few entries for it: an entry that is due before the deadline,
/// because the deadline was moved, is inserted again. Use it on the loop only.
package final class LoopTimer {
    private let loop: EventLoop
    private let action: () -> Void
    private var deadline: ContinuousClock.Instant?
    private var earliestEntry: ContinuousClock.Instant?

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

    /// Disarms the timer for good, so that the loop need not keep it until an obsolete deadline.
    package func abandon() {
        self.deadline = nil
        guard !self.isAbandoned else { return }
        self.isAbandoned = true
        if self.earliestEntry != nil { self.loop.abandonTimer() }
    }

    fileprivate func entryIsDue(_ entry: ContinuousClock.Instant) {
        if entry == self.earliestEntry { self.earliestEntry = nil }
        guard let deadline else { return }
        // The deadline is not compared with the current time: on a loop that is late, this timer
        // would overtake timers that are due before it.
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

    /// Removes the entries of abandoned timers once these are half of all entries. Each closed
    /// connection leaves several.
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

    /// How long epoll may sleep: rounded up, so that it does not wake just before the time; -1 for
    /// no limit.
    func millisecondsToNext(now: ContinuousClock.Instant) -> Int32 {
        guard let first = self.entries.min else { return -1 }
        let wait = first.due - now
        guard wait > .zero else { return 0 }
        return Int32(clamping: wait.attoseconds / 1_000_000_000_000_000 + 1)
    }
}
