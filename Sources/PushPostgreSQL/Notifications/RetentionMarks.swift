internal import Synchronization

/// From which time on what has expired is looked for.
///
/// Entries of deleted rows at the head of an index stay as long as any snapshot is older, and each look would walk over all of
/// them. So a look after a slow one begins where that one has found the first row, and only now and then at the start again: there
/// may be rows that another process had locked, or that came in late. Any thread may use it.
final class RetentionMarks: Sendable {
    /// What is looked for by its time.
    enum Kind: Hashable {
        case notifications, idempotencyKeys
    }

    struct Look: Sendable {
        fileprivate let kind: Kind
        /// The first time, in milliseconds; `Int64.min`: the start.
        let start: Int64
        fileprivate let began: ContinuousClock.Instant
    }

    private struct Mark {
        var start: Int64
        /// When a look last began at the start.
        var since: ContinuousClock.Instant
        /// How long none may do so again.
        var rest: Duration
    }

    /// A look that takes longer is slow.
    private static let slowness = Duration.milliseconds(100)
    private static let longestRest = Duration.seconds(600)
    /// How far back a look goes after one that did not end within its time, in milliseconds.
    private static let reach: Int64 = 3_600_000

    private let marks = Mutex([Kind: Mark]())

    func begin(_ kind: Kind, at now: ContinuousClock.Instant) -> Look {
        let mark = self.marks.withLock { $0[kind] }.flatMap { now - $0.since < $0.rest ? $0 : nil }
        return Look(kind: kind, start: mark?.start ?? .min, began: now)
    }

    /// Ends a look that has found `first`, in milliseconds.
    func end(_ look: Look, first: Int64?, at now: ContinuousClock.Instant) {
        self.marks.withLock { marks in
            if look.start > .min {
                if let first { marks[look.kind]?.start = first }
                return
            }
            let time = now - look.began
            let start = first ?? marks[look.kind]?.start
            guard time >= Self.slowness, let start else { return marks[look.kind] = nil }
            marks[look.kind] = Mark(start: start, since: look.began, rest: min(time * 20, Self.longestRest))
        }
    }

    /// Ends a look at the time `date`, in milliseconds, that has found nothing within its time.
    func fail(_ look: Look, date: Int64) {
        self.marks.withLock { marks in
            let start = max(marks[look.kind]?.start ?? .min, date - Self.reach)
            marks[look.kind] = Mark(start: start, since: look.began, rest: Self.longestRest)
        }
    }
}
