internal import PushStore
internal import Synchronization

/// The pushes that this server has leased. For each push, the book has the number that the server
/// had at the time of the lease.
///
/// This number matters if the server was fenced and has joined under another number. The outcome
/// of a push is stored under the number of its lease, and only if no other server has taken the
/// push over.
final class LeaseBook: Sendable {
    private struct State {
        var owners: [DuePush: Int64] = [:]
        /// The times of the next searches in the database for leases that the book does not have.
        var searches: [ContinuousClock.Instant] = []
    }

    /// After this time, a commit whose connection was lost has certainly ended.
    private static let longestCommit = Duration.seconds(60)

    /// A lock suffices: several lanes (providers' queues) lease and settle at the same time, but
    /// each holds the lock only to look up or store some keys.
    private let state = Mutex(State())

    /// Records leases. Call it before the leases are committed, so that the book never lacks a
    /// valid lease.
    func record(_ pushes: [DuePush], under owner: Int64) {
        self.state.withLock { state in
            for push in pushes { state.owners[push] = owner }
        }
    }

    func forget(_ pushes: [DuePush]) {
        self.state.withLock { state in
            for push in pushes { state.owners[push] = nil }
        }
    }

    /// For each of these pushes, the server number of its lease; `nil` for a push that is not
    /// leased.
    func owners(of pushes: [DuePush]) -> [Int64?] { self.state.withLock { state in pushes.map { state.owners[$0] } } }

    /// All leases, in the order of the pushes' keys.
    var all: [(push: DuePush, owner: Int64)] {
        self.state.withLock { $0.owners }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Records that nobody knows whether a commit with leases has succeeded. Schedules one search
    /// in the database for now, and one for the time when that commit must have ended.
    func recordUnknownOutcome(now: ContinuousClock.Instant) {
        self.state.withLock { $0.searches = [now, now + Self.longestCommit] }
    }

    /// Whether it is time to search the database for leases that the book lacks. Removes the due
    /// searches from the schedule.
    func takeSearch(now: ContinuousClock.Instant) -> Bool {
        self.state.withLock { state in
            let count = state.searches.count
            state.searches.removeAll { $0 <= now }
            return state.searches.count < count
        }
    }
}
