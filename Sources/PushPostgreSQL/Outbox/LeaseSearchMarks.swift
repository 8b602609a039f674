internal import PushCore
internal import PushStore
internal import Synchronization

/// The times, called marks, from which the searches for due pushes of each queue start.
///
/// An index keeps the entries of deleted rows as long as any snapshot is older than the deletion.
/// Each search from the head of the index would scan all of them. So the search after a full lease
/// starts at the oldest push of that lease, and every two seconds at the index's start again.
///
/// A slow search from the start delays the next one from there by twenty times its duration, at
/// most half a minute. A push inserted below the mark waits until then. Pushes that a dead server
/// had leased may be due below the mark; the marks are then dropped.
final class LeaseSearchMarks: Sendable {
    /// One search for due pushes.
    struct Search: Sendable {
        /// The time from which the search starts; `Int64.min`: the index's start.
        let start: Int64
        /// Whether a search that finds too few pushes continues below its start.
        let mayContinueBelow: Bool
        fileprivate let began: ContinuousClock.Instant
        /// The number of times that all marks had been dropped.
        fileprivate let era: Int
    }

    private struct Key: Hashable {
        let lane: String
        let queue: Queue
    }

    private struct Mark {
        var dueAt: Int64
        /// The time when a search last began at the start.
        var since: ContinuousClock.Instant
        /// The delay before the next search from the start.
        var delay: Duration
    }

    private static let lifetime = Duration.seconds(2)
    /// The duration from which a search counts as slow.
    private static let slowness = Duration.milliseconds(100)
    private static let longestDelay = Duration.seconds(30)
    /// The margin for pushes that other transactions are about to commit, in milliseconds: they
    /// may be due earlier than now.
    private static let commitMargin: Int64 = 1000

    private struct State {
        var marks: [Key: Mark] = [:]
        var era = 0
    }

    /// Several lanes lease at the same time.
    private let state = Mutex(State())

    /// Makes the next search of each queue begin at the start; searches that run now leave no
    /// mark.
    func forgetAll() {
        self.state.withLock { state in
            state.marks = [:]
            state.era += 1
        }
    }

    /// Begins the search of a lease.
    func beginLease(in lane: Lane, _ queue: Queue, at now: ContinuousClock.Instant) -> Search {
        let (mark, era) = self.mark(lane, queue)
        guard let mark else { return Search(start: .min, mayContinueBelow: false, began: now, era: era) }
        let age = now - mark.since
        if age >= max(Self.lifetime, mark.delay) {
            return Search(start: .min, mayContinueBelow: false, began: now, era: era)
        }
        return Search(start: mark.dueAt, mayContinueBelow: age >= mark.delay, began: now, era: era)
    }

    /// Begins the search for the time when the next push is due. It begins at the index's start,
    /// or at the mark if the last search from the start was slow.
    func beginPoll(in lane: Lane, _ queue: Queue, at now: ContinuousClock.Instant) -> Search {
        let (mark, era) = self.mark(lane, queue)
        let start = mark.flatMap { now - $0.since < $0.delay ? $0.dueAt : nil }
        return Search(start: start ?? .min, mayContinueBelow: false, began: now, era: era)
    }

    /// Ends the search of a lease.
    ///
    /// - Parameters:
    ///   - first: The time of the oldest push if the lease was full, `nil` otherwise.
    ///   - continuedBelow: Whether it continued below its start.
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

    /// Ends a search for the next due time, which has found `first`.
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
