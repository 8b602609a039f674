internal import PushCore
internal import PushStore
internal import Synchronization

/// The times, called marks, from which searches for due pushes and for expired rows start.
///
/// An index keeps the entries of deleted rows as long as any snapshot is older than the deletion.
/// Each search from the head of the index would scan all of them. So the search after a full lease
/// starts at the oldest push of that lease, and every two seconds at the index's start again.
///
/// A slow search from the start delays the next one from there by twenty times its duration, up to
/// a limit. Rows inserted below the mark, or locked by another server before, wait until then.
/// Pushes that a dead server had leased may be due below the mark; the marks are then dropped. Any
/// thread may use it.
final class SearchMarks: Sendable {
    /// The rows to search by their time.
    enum Rows: Sendable, Hashable {
        /// The due pushes of a queue.
        case pushes(Lane, Queue)
        /// Expired rows.
        case notifications, idempotencyKeys
    }

    struct Search: Sendable {
        /// The time from which the search starts, in milliseconds; `Int64.min`: the index's start.
        let start: Int64
        /// Whether a search that finds too few pushes continues below its start.
        var mayContinueBelow = false
        fileprivate let rows: Rows
        fileprivate let began: ContinuousClock.Instant
        /// The number of times that all marks had been dropped.
        fileprivate let era: Int
    }

    private struct Mark {
        var start: Int64
        /// The time when a search last began at the start.
        var since: ContinuousClock.Instant
        /// The delay before the next search from the start.
        var delay: Duration
    }

    private static let lifetime = Duration.seconds(2)
    /// The duration from which a search counts as slow.
    private static let slowness = Duration.milliseconds(100)
    /// The margin for pushes that other transactions are about to commit, in milliseconds: they
    /// may be due earlier than now.
    private static let commitMargin: Int64 = 1000
    /// How far before now a search starts after a search that timed out, in milliseconds.
    private static let reach: Int64 = 3_600_000

    private struct State {
        var marks: [Rows: Mark] = [:]
        var era = 0
    }

    private let state = Mutex(State())

    /// Makes the next search of all rows begin at the start; searches that run now leave no mark.
    func forgetAll() {
        self.state.withLock { state in
            state.marks = [:]
            state.era += 1
        }
    }

    /// Begins a search at the index's start, or at the mark if the last search from the start was
    /// slow.
    func begin(_ rows: Rows, at now: ContinuousClock.Instant) -> Search {
        let (mark, era) = self.state.withLock { ($0.marks[rows], $0.era) }
        let start = mark.flatMap { now - $0.since < $0.delay ? $0.start : nil }
        return Search(start: start ?? .min, rows: rows, began: now, era: era)
    }

    /// Begins the search of a lease.
    func beginLease(in lane: Lane, _ queue: Queue, at now: ContinuousClock.Instant) -> Search {
        let rows = Rows.pushes(lane, queue)
        let (mark, era) = self.state.withLock { ($0.marks[rows], $0.era) }
        guard let mark, now - mark.since < max(Self.lifetime, mark.delay) else {
            return Search(start: .min, rows: rows, began: now, era: era)
        }
        let mayContinueBelow = now - mark.since >= mark.delay
        return Search(start: mark.start, mayContinueBelow: mayContinueBelow, rows: rows, began: now, era: era)
    }

    /// Ends the search of a lease.
    ///
    /// - Parameters:
    ///   - first: The time of the oldest push if the lease was full, `nil` otherwise.
    ///   - continuedBelow: Whether it continued below its start.
    ///   - date: The time of the lease, in milliseconds.
    func endLease(
        _ search: Search,
        first: Int64?,
        continuedBelow: Bool,
        date: Int64,
        at now: ContinuousClock.Instant
    ) {
        let sawAll = search.start == .min || continuedBelow
        self.change(search) { mark in
            let delay = sawAll ? Self.delay(of: search, until: now) : mark?.delay ?? .zero
            let start = first ?? (delay > .zero ? date - Self.commitMargin : nil)
            let since = sawAll ? search.began : mark?.since ?? search.began
            mark = start.map { Mark(start: $0, since: since, delay: delay) }
        }
    }

    /// Ends a search for the next due time, which has found `first`.
    func endPoll(_ search: Search, first: Int64?, at now: ContinuousClock.Instant) {
        guard search.start == .min else { return }
        self.change(search) { mark in
            guard let old = mark else { return }
            let delay = Self.delay(of: search, until: now)
            mark?.delay = delay
            if delay > .zero { mark = Mark(start: min(old.start, first ?? .max), since: search.began, delay: delay) }
        }
    }

    /// Ends a search for expired rows, which has found `first`.
    func end(_ search: Search, first: Int64?, at now: ContinuousClock.Instant) {
        self.change(search) { mark in
            if search.start > .min {
                if let first { mark?.start = first }
                return
            }
            let (delay, start) = (Self.delay(of: search, until: now), first ?? mark?.start)
            mark = delay > .zero ? start.map { Mark(start: $0, since: search.began, delay: delay) } : nil
        }
    }

    /// Ends a search at the time `date`, in milliseconds, that has timed out.
    func fail(_ search: Search, date: Int64) {
        self.change(search) { mark in
            let start = max(mark?.start ?? .min, date - Self.reach)
            mark = Mark(start: start, since: search.began, delay: Self.longestDelay(of: search.rows))
        }
    }

    // MARK: - Private

    private func change(_ search: Search, _ body: (inout Mark?) -> Void) {
        self.state.withLock { state in
            if state.era == search.era { body(&state.marks[search.rows]) }
        }
    }

    private static func delay(of search: Search, until now: ContinuousClock.Instant) -> Duration {
        let time = now - search.began
        return time < self.slowness ? .zero : min(time * 20, self.longestDelay(of: search.rows))
    }

    private static func longestDelay(of rows: Rows) -> Duration {
        if case .pushes = rows { .seconds(30) } else { .seconds(600) }
    }
}
