internal import PushStore
internal import Synchronization

/// The pushes that this server has leased, each with the number under which it leased them.
///
/// The number matters after the server was fenced. The outcome of a push is then stored under the
/// number of its lease, and only if no other server has taken the push over.
final class LeaseBook: Sendable {
    private struct State {
        var owners: [DuePush: Int64] = [:]
        /// The times of the next searches in the database for leases that are not in the book.
        var searches: [ContinuousClock.Instant] = []
    }

    /// After this time, a commit whose connection was lost is no longer running.
    private static let longestCommit = Duration.seconds(60)

    /// Several lanes lease and settle at the same time; each only looks up or stores some keys.
    private let state = Mutex(State())

    /// Records leases. Must be called before they are committed, so that the book has each lease
    /// in the database while it is valid.
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

    /// The numbers under which pushes are leased; `nil` for a push that is not leased.
    func owners(of pushes: [DuePush]) -> [Int64?] {
        self.state.withLock { state in pushes.map { state.owners[$0] } }
    }

    /// All leases, in the order of their keys.
    var all: [(push: DuePush, owner: Int64)] {
        self.state.withLock { $0.owners }
            .sorted { ($0.key.notification, $0.key.device) < ($1.key.notification, $1.key.device) }
            .map { ($0.key, $0.value) }
    }

    /// Records that the outcome of a commit with leases is unknown. Schedules a search of the
    /// database now, and another when a running commit must have ended.
    func recordUnknownOutcome(now: ContinuousClock.Instant) {
        self.state.withLock { $0.searches = [now, now + Self.longestCommit] }
    }

    /// Whether the database must be searched for leases that are not in the book. Removes the
    /// searches that are due.
    func takeSearch(now: ContinuousClock.Instant) -> Bool {
        self.state.withLock { state in
            let count = state.searches.count
            state.searches.removeAll { $0 <= now }
            return state.searches.count < count
        }
    }
}

/// The leases that one run of a transaction has recorded; the run may be repeated or fail.
final class RecordedLeases: Sendable {
    private let book: LeaseBook
    /// The runs come one after the other, but not on one thread.
    private let pushes = Mutex([DuePush]())

    init(in book: LeaseBook) {
        self.book = book
    }

    func record(_ pushes: [DuePush], under owner: Int64) {
        self.pushes.withLock { $0 = pushes }
        self.book.record(pushes, under: owner)
    }

    /// Drops the leases of the last run, which was not committed as far as is known.
    func forget() {
        let last = self.pushes.withLock { pushes in
            defer { pushes = [] }
            return pushes
        }
        self.book.forget(last)
    }
}
