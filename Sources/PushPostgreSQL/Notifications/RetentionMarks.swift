internal import Synchronization

/// The times where the searches for expired rows start.
///
/// An index keeps the entries of deleted rows as long as any snapshot is older than the deletion.
/// A search from the beginning of the index would scan all these entries each time. So after a
/// slow search, later searches start at the first row that the slow one found. Only occasionally
/// does a search start at the beginning again, for rows that another server had locked or that
/// were inserted late. Any thread may use this object.
final class RetentionMarks: Sendable {
    /// The kinds of rows that are searched by their time.
    enum Kind: Hashable {
        case notifications, idempotencyKeys
    }

    struct Search: Sendable {
        fileprivate let kind: Kind
        /// The time, in milliseconds, where the search starts; `Int64.min`: the beginning of the
        /// index.
        let start: Int64
        fileprivate let began: ContinuousClock.Instant
    }

    private struct Mark {
        var start: Int64
        /// The time when a search last started at the beginning of the index.
        var since: ContinuousClock.Instant
        /// The delay before the next search from the beginning of the index.
        var delay: Duration
    }

    /// The minimum duration of a search that counts as slow.
    private static let slowness = Duration.milliseconds(100)
    private static let longestDelay = Duration.seconds(600)
    /// After a search has timed out, the next search starts this number of milliseconds before the
    /// present.
    private static let reach: Int64 = 3_600_000

    private let marks = Mutex([Kind: Mark]())

    func begin(_ kind: Kind, at now: ContinuousClock.Instant) -> Search {
        let mark = self.marks.withLock { $0[kind] }.flatMap { now - $0.since < $0.delay ? $0 : nil }
        return Search(kind: kind, start: mark?.start ?? .min, began: now)
    }

    /// Ends a search. `first` is the time of the first row that it found, in milliseconds.
    func end(_ search: Search, first: Int64?, at now: ContinuousClock.Instant) {
        self.marks.withLock { marks in
            if search.start > .min {
                if let first { marks[search.kind]?.start = first }
                return
            }
            let time = now - search.began
            let start = first ?? marks[search.kind]?.start
            guard time >= Self.slowness, let start else { return marks[search.kind] = nil }
            marks[search.kind] = Mark(start: start, since: search.began, delay: min(time * 20, Self.longestDelay))
        }
    }

    /// Ends a search that has timed out. `date` is its time, in milliseconds.
    func fail(_ search: Search, date: Int64) {
        self.marks.withLock { marks in
            let start = max(marks[search.kind]?.start ?? .min, date - Self.reach)
            marks[search.kind] = Mark(start: start, since: search.began, delay: Self.longestDelay)
        }
    }
}
