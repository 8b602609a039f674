internal import PushCore
internal import PushStore
internal import Synchronization

/// Marks for the searches for due pushes: for each queue, the time where a search starts.
///
/// An index keeps the entries of deleted rows as long as any snapshot is older than the deletion.
/// A search from the beginning of the index would scan all these entries each time. So after a
/// lease that was full, the next search starts at the oldest push of that lease. Every two
/// seconds, a search starts at the beginning again.
///
/// If a search from the beginning was slow, the next one comes later: after twenty times its
/// duration, or half a minute at most. A push that was inserted below the mark waits until then.
/// Pushes that a dead server had leased may be due below the marks, so all marks are then dropped.
final class LeaseSearchMarks: Sendable {
    /// One search for due pushes.
    struct Search: Sendable {
        /// The time from which the search starts; `Int64.min`: the beginning of the index.
        let start: Int64
        /// Whether the search continues below its start if it finds too few pushes.
        let mayContinueBelow: Bool
        fileprivate let began: ContinuousClock.Instant
        /// The number of times that all marks had been dropped before the search began.
        fileprivate let era: Int
    }

    private struct Key: Hashable {
        let lane: String
        let queue: Queue
    }

    private struct Mark {
        var dueAt: Int64
        /// The time when a search last started at the beginning of the index.
        var since: ContinuousClock.Instant
        /// The delay before the next search from the beginning of the index.
        var delay: Duration
    }

    private static let lifetime = Duration.seconds(2)
    /// The minimum duration of a search that counts as slow.
    private static let slowness = Duration.milliseconds(100)
    private static let longestDelay = Duration.seconds(30)
    /// After a slow search that found too few pushes, the mark is the present minus this number of
    /// milliseconds. Other transactions may be about to commit pushes that became due earlier.
    private static let commitMargin: Int64 = 1000

    private struct State {
        var marks: [Key: Mark] = [:]
        var era = 0
    }

    /// A lock protects the marks, since several lanes lease at the same time.
    private let state = Mutex(State())

    /// Makes the next search of each queue start at the beginning. Searches that are now running
    /// set no mark at their end.
    func forgetAll() {
        self.state.withLock { state in
            state.marks = [:]
            state.era += 1
        }
    }

    /// Begins a search for pushes to lease.
    func beginLease(in lane: Lane, _ queue: Queue, at now: ContinuousClock.Instant) -> Search {
        let (mark, era) = self.mark(lane, queue)
        guard let mark else { return Search(start: .min, mayContinueBelow: false, began: now, era: era) }
        let age = now - mark.since
        if age >= max(Self.lifetime, mark.delay) {
            return Search(start: .min, mayContinueBelow: false, began: now, era: era)
        }
        return Search(start: mark.dueAt, mayContinueBelow: age >= mark.delay, began: now, era: era)
    }

    /// Begins a search for the time when the next push is due. It starts at the beginning of the
    /// index, or at the mark if the last search from the beginning was slow.
    func beginPoll(in lane: Lane, _ queue: Queue, at now: ContinuousClock.Instant) -> Search {
        let (mark, era) = self.mark(lane, queue)
        let start = mark.flatMap { now - $0.since < $0.delay ? $0.dueAt : nil }
        return Search(start: start ?? .min, mayContinueBelow: false, began: now, era: era)
    }

    /// Ends a search for pushes to lease.
    ///
    /// - Parameters:
    ///   - first: The time of the oldest push if the lease was full, `nil` otherwise.
    ///   - continuedBelow: Whether the search continued below its start.
    ///   - date: The time of the lease, in milliseconds.
    func endLease(
        _ search: Search,
        in lane: Lane,
        _ queue: Queue,
        first: Int64?,
        continuedBelow: Bool,
        date: Int64,
        at now: ContinuousClock.Instant
    ) {
        let sawAll = search.start == .min || continuedBelow
        self.state.withLock { state in
            guard state.era == search.era else { return }
            let key = Key(lane: lane.description, queue: queue)
            let old = state.marks[key]
            let delay = sawAll ? Self.delay(after: now - search.began) : old?.delay ?? .zero
            guard let dueAt = first ?? (delay > .zero ? date - Self.commitMargin : nil) else {
                return state.marks[key] = nil
            }
            state.marks[key] = Mark(
                dueAt: dueAt,
                since: sawAll ? search.began : old?.since ?? search.began,
                delay: delay
            )
        }
    }

    /// Ends a search for the time when the next push is due; `first` is that time.
    func endPoll(_ search: Search, in lane: Lane, _ queue: Queue, first: Int64?, at now: ContinuousClock.Instant) {
        guard search.start == .min else { return }
        self.state.withLock { state in
            let key = Key(lane: lane.description, queue: queue)
            guard state.era == search.era, var mark = state.marks[key] else { return }
            mark.delay = Self.delay(after: now - search.began)
            if mark.delay > .zero {
                mark.since = search.began
                mark.dueAt = min(mark.dueAt, first ?? .max)
            }
            state.marks[key] = mark
        }
    }

    // MARK: - Private

    private func mark(_ lane: Lane, _ queue: Queue) -> (mark: Mark?, era: Int) {
        self.state.withLock { ($0.marks[Key(lane: lane.description, queue: queue)], $0.era) }
    }

    private static func delay(after time: Duration) -> Duration {
        time < self.slowness ? .zero : min(time * 20, self.longestDelay)
    }
}
