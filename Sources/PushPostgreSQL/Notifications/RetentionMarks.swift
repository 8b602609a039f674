internal import Synchronization

/// The times from which each search for expired rows starts.
///
/// An index keeps the entries of deleted rows as long as any snapshot is older than the deletion.
/// Each search from the head of the index would scan all of them. So a search after a slow one
/// starts at the first row that the slow one found. It returns to the index's start only
/// occasionally, for rows that another server had locked, or that were inserted late. Any thread
/// may use it.
final class RetentionMarks: Sendable {
    /// The rows to search by their time.
    enum Kind: Hashable {
        case notifications, idempotencyKeys
    }

    struct Search: Sendable {
        fileprivate let kind: Kind
        /// The first time, in milliseconds; `Int64.min`: the start.
        let start: Int64
        fileprivate let began: ContinuousClock.Instant
    }

    private struct Mark {
        var start: Int64
        /// The time when a search last began at the start.
        var since: ContinuousClock.Instant
        /// The delay before the next search from the start.
        var delay: Duration
    }

    /// The duration from which a search counts as slow.
    private static let slowness = Duration.milliseconds(100)
    private static let longestDelay = Duration.seconds(600)
    /// How far before now a search starts after a search that timed out, in milliseconds.
    private static let reach: Int64 = 3_600_000

    private let marks = Mutex([Kind: Mark]())

    func begin(_ kind: Kind, at now: ContinuousClock.Instant) -> Search {
        let mark = self.marks.withLock { $0[kind] }.flatMap { now - $0.since < $0.delay ? $0 : nil }
        return Search(kind: kind, start: mark?.start ?? .min, began: now)
    }

    /// Ends a search that has found `first`, in milliseconds.
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

    /// Ends a search at the time `date`, in milliseconds, that has timed out.
    func fail(_ search: Search, date: Int64) {
        self.marks.withLock { marks in
            let start = max(marks[search.kind]?.start ?? .min, date - Self.reach)
            marks[search.kind] = Mark(start: start, since: search.began, delay: Self.longestDelay)
        }
    }
}
