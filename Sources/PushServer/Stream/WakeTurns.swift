internal import PushStore
internal import Synchronization

/// The order in which the users' new event streams make waiting pushes due.
///
/// This work of the store grows with the number of the user's waiting pushes. A user who opens and
/// closes streams all the time could otherwise keep the store busy, at the cost of all other
/// users. So the work is done for one stream of a user at a time, and at most a fifth of the
/// time.
final class WakeTurns: Sendable {
    private struct Turn {
        /// The time before which no other stream of the user begins.
        var next: ContinuousClock.Instant
        var isTaken = true
    }

    /// How long a stream waits that finds another stream of the user at work.
    private static let pause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(5)
    /// The number of users above which past turns are removed.
    private static let maximumTurns = 1000

    private let turns = Mutex<[Int64: Turn]>([:])

    var count: Int { self.turns.withLock(\.count) }

    /// Takes the user's turn. Returns the time of the next attempt if the turn is not free yet.
    func take(ofUser user: Int64, now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        self.turns.withLock { turns in
            if let turn = turns[user] {
                if turn.isTaken { return now + Self.pause }
                if turn.next > now { return turn.next }
            }
            if turns.count >= Self.maximumTurns { turns = turns.filter { $0.value.isTaken || $0.value.next > now } }
            turns[user] = Turn(next: now)
            return nil
        }
    }

    /// Ends the user's turn, which began at `start` and has made `count` pushes due. Few pushes
    /// need no pause: after a restart of the server, the devices of a user connect at the same
    /// time.
    func end(ofUser user: Int64, count: Int, start: ContinuousClock.Instant, now: ContinuousClock.Instant) {
        let pause = count <= WakePace.pushes ? .zero : min(start.duration(to: now) * 4, Self.longestPause)
        self.turns.withLock { $0[user] = Turn(next: now + pause, isTaken: false) }
    }
}
