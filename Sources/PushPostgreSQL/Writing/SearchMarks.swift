internal import PushCore
internal import PushStore
internal import Synchronization

/// The times, called marks, from which searches for due pushes and for expired rows start.
///
/// An index keeps the entries of deleted rows as long as any snapshot is older than the deletion.
/// A search from the beginning of the index would scan all these entries each time. So after a
/// lease that found as many pushes as requested, the next search starts at the oldest of these
/// pushes. Every two seconds, a search starts at the beginning again.
///
/// A slow search from the start of the index delays the next search from the start by twenty times
/// its own duration, up to a limit. Until then, rows below the mark wait: rows that were inserted
/// there, or that another server had locked. Pushes that a dead server had leased may be due below
/// the mark; the marks are then dropped. Any thread may use this object.
final class SearchMarks: Sendable {
    /// The kinds of rows that are searched by their time.
    enum Rows: Sendable, Hashable {
        case pushes(Lane, Queue)
        case notifications, idempotencyKeys
    }

    struct Search: Sendable {
        /// The time from which the search starts, in milliseconds; `Int64.min`: the index's start.
        let start: Int64
        /// Whether the search continues below its start if it finds too few pushes.
        var mayContinueBelow = false
        fileprivate let rows: Rows
        fileprivate let began: ContinuousClock.Instant
        /// The number of calls of `forgetAll` before the search began.
        fileprivate let era: Int
    }

    private struct Mark {
        var start: Int64
        /// The time when a search last started at the beginning of the index.
        var since: ContinuousClock.Instant
        /// The delay before the next search from the beginning of the index.
        var delay: Duration
    }

    /// The lifetime of a mark for leases.
    static let lifetime = Duration.seconds(2)
    /// The minimum duration of a search that counts as slow.
    private static let slowness = Duration.milliseconds(100)
    /// After a slow search that found too few pushes, the next search starts this number of
    /// milliseconds before the present. Other transactions may be about to commit pushes that
    /// became due earlier.
    private static let commitMargin: Int64 = 1000
    /// After a search has timed out, the next search starts this number of milliseconds before the
    /// present.
    private static let reach: Int64 = 3_600_000

    private struct State {
        var marks: [Rows: Mark] = [:]
        var era = 0
    }

    private let state = Mutex(State())

    /// Makes the next search for each kind of rows begin at the index's start; searches that are
    /// running now do not change where the next search begins.
    func forgetAll() {
        self.state.withLock { state in
            state.marks = [:]
            state.era += 1
        }
    }

    /// Begins a search at the index's start, or at the mark (a stored time) if the last search
    /// from the start was slow, or if it began less than `lifetime` ago.
    func begin(_ rows: Rows, lifetime: Duration = .zero, at now: ContinuousClock.Instant) -> Search {
        let (mark, era) = self.state.withLock { ($0.marks[rows], $0.era) }
        guard let mark, now - mark.since < max(lifetime, mark.delay) else {
            return Search(start: .min, rows: rows, began: now, era: era)
        }
        let mayContinueBelow = now - mark.since >= mark.delay
        return Search(start: mark.start, mayContinueBelow: mayContinueBelow, rows: rows, began: now, era: era)
    }

    /// Ends a search for pushes to lease.
    ///
    /// - Parameters:
    ///   - first: The time of the oldest push if as many were found as requested, otherwise `nil`.
    ///   - continuedBelow: Whether the search continued below its start.
    ///   - date: The time of the lease, in milliseconds.
    func endLease(_ search: Search, first: Int64?, continuedBelow: Bool, date: Int64, at now: ContinuousClock.Instant) {
        let sawAll = search.start == .min || continuedBelow
        self.change(search) { mark in
            let delay = sawAll ? Self.delay(of: search, until: now) : mark?.delay ?? .zero
            let start = first ?? (delay > .zero ? date - Self.commitMargin : nil)
            let since = sawAll ? search.began : mark?.since ?? search.began
            mark = start.map { Mark(start: $0, since: since, delay: delay) }
        }
    }

    /// Ends a search for the time when the next push is due; `first` is that time.
    func endPoll(_ search: Search, first: Int64?, at now: ContinuousClock.Instant) {
        guard search.start == .min else { return }
        self.change(search) { mark in
            guard let old = mark else { return }
            let delay = Self.delay(of: search, until: now)
            mark?.delay = delay
            if delay > .zero { mark = Mark(start: min(old.start, first ?? .max), since: search.began, delay: delay) }
        }
    }

    /// Ends a search for expired rows; `first` is the time of the first row that it has found.
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

    /// Ends a search that has timed out. `date` is the time of the search, in milliseconds.
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
