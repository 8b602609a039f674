internal import PushCore
internal import PushStore
internal import Synchronization

/// From which time on each queue's due pushes are looked for.
///
/// Entries of deleted rows at the head of an index stay as long as any snapshot is older, and each look would walk over all
/// of them. So a claim after a full one begins where that one began, and every two seconds at the start again. Where a look
/// from the start has been slow, the next one follows only after twenty times as long: a push that came in below the mark
/// waits until then, for half a minute at most. What a process that is gone had leased lies below; the marks are then forgotten.
final class ClaimMarks: Sendable {
    /// One look for due pushes.
    struct Look: Sendable {
        /// The first time that it looks at; `Int64.min`: the start.
        let start: Int64
        /// Whether a claim that finds too few looks below the start as well.
        let mayGoBelow: Bool
        fileprivate let began: ContinuousClock.Instant
        /// How often all marks had been forgotten.
        fileprivate let era: Int
    }

    private struct Key: Hashable {
        let lane: String
        let queue: Queue
    }

    private struct Mark {
        var dueAt: Int64
        /// When a look last began at the start.
        var since: ContinuousClock.Instant
        /// How long none may do so again.
        var rest: Duration
    }

    private static let lifetime = Duration.seconds(2)
    /// A look that takes longer is slow.
    private static let slowness = Duration.milliseconds(100)
    private static let longestRest = Duration.seconds(30)
    /// How much earlier than now a push may be due that another transaction is about to commit, in milliseconds.
    private static let delay: Int64 = 1000

    private struct State {
        var marks: [Key: Mark] = [:]
        var era = 0
    }

    /// Claims of several lanes run at the same time.
    private let state = Mutex(State())

    /// Has the next look of each queue begin at the start; a look that has begun leaves no mark.
    func forgetAll() {
        self.state.withLock { state in
            state.marks = [:]
            state.era += 1
        }
    }

    /// A claim's look.
    func beginClaim(in lane: Lane, _ queue: Queue, at now: ContinuousClock.Instant) -> Look {
        let (mark, era) = self.mark(lane, queue)
        guard let mark else { return Look(start: .min, mayGoBelow: false, began: now, era: era) }
        let age = now - mark.since
        if age >= max(Self.lifetime, mark.rest) { return Look(start: .min, mayGoBelow: false, began: now, era: era) }
        return Look(start: mark.dueAt, mayGoBelow: age >= mark.rest, began: now, era: era)
    }

    /// A look that only asks when the next push is due: at the start, unless that was slow.
    func beginQuestion(in lane: Lane, _ queue: Queue, at now: ContinuousClock.Instant) -> Look {
        let (mark, era) = self.mark(lane, queue)
        let start = mark.flatMap { now - $0.since < $0.rest ? $0.dueAt : nil }
        return Look(start: start ?? .min, mayGoBelow: false, began: now, era: era)
    }

    /// Ends a claim's look.
    ///
    /// - Parameters:
    ///   - first: The time of the oldest push if the claim was full, `nil` otherwise.
    ///   - wentBelow: Whether it looked below its start, too.
    ///   - date: The time of the claim, in milliseconds.
    func endClaim(
        _ look: Look,
        in lane: Lane,
        _ queue: Queue,
        first: Int64?,
        wentBelow: Bool,
        date: Int64,
        at now: ContinuousClock.Instant
    ) {
        let sawAll = look.start == .min || wentBelow
        self.state.withLock { state in
            guard state.era == look.era else { return }
            let key = Key(lane: lane.description, queue: queue)
            let old = state.marks[key]
            let rest = sawAll ? Self.rest(after: now - look.began) : old?.rest ?? .zero
            guard let dueAt = first ?? (rest > .zero ? date - Self.delay : nil) else { return state.marks[key] = nil }
            state.marks[key] = Mark(dueAt: dueAt, since: sawAll ? look.began : old?.since ?? look.began, rest: rest)
        }
    }

    /// Ends a question's look, which has found `first`.
    func endQuestion(_ look: Look, in lane: Lane, _ queue: Queue, first: Int64?, at now: ContinuousClock.Instant) {
        guard look.start == .min else { return }
        self.state.withLock { state in
            let key = Key(lane: lane.description, queue: queue)
            guard state.era == look.era, var mark = state.marks[key] else { return }
            mark.rest = Self.rest(after: now - look.began)
            if mark.rest > .zero {
                mark.since = look.began
                mark.dueAt = min(mark.dueAt, first ?? .max)
            }
            state.marks[key] = mark
        }
    }

    // MARK: - Private

    private func mark(_ lane: Lane, _ queue: Queue) -> (mark: Mark?, era: Int) {
        self.state.withLock { ($0.marks[Key(lane: lane.description, queue: queue)], $0.era) }
    }

    private static func rest(after time: Duration) -> Duration {
        time < self.slowness ? .zero : min(time * 20, self.longestRest)
    }
}
