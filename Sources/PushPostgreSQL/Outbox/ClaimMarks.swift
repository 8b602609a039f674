internal import PushCore
internal import PushStore
internal import Synchronization

/// From which time on each queue's claims look for due pushes.
///
/// Entries of deleted rows at the head of an index stay as long as any snapshot is older, and each claim would walk over all
/// of them. So a claim after a full one begins where that one began; every two seconds it begins at the start again.
final class ClaimMarks: Sendable {
    private struct Key: Hashable {
        let lane: String
        let queue: Queue

        init(_ request: LeaseRequest) {
            self.lane = request.lane.description
            self.queue = request.queue
        }
    }

    private struct Mark {
        let dueAt: Int64
        /// When a claim last began at the start.
        let since: ContinuousClock.Instant
    }

    private static let lifetime = Duration.seconds(2)

    /// Claims of several lanes run at the same time.
    private let marks = Mutex([Key: Mark]())

    func start(of request: LeaseRequest, at now: ContinuousClock.Instant) -> Int64 {
        let mark = self.marks.withLock { $0[Key(request)] }
        guard let mark, now - mark.since < Self.lifetime else { return .min }
        return mark.dueAt
    }

    /// `first`: the time of the oldest push of a full claim.
    func note(_ first: Int64?, of request: LeaseRequest, at now: ContinuousClock.Instant) {
        self.marks.withLock { marks in
            let key = Key(request)
            let last = marks[key].flatMap { now - $0.since < Self.lifetime ? $0.since : nil }
            marks[key] = first.map { Mark(dueAt: $0, since: last ?? now) }
        }
    }
}
