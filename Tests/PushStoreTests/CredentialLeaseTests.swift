import PushCore
import PushStore
import Synchronization
import Testing

/// How long a server may rely on cached credentials while it has a lease of the database.
@Suite(.timeLimit(.minutes(5))) struct CredentialLeaseTests {
    /// A clock that a test sets to a number of seconds after the clock's start.
    private final class Clock: Sendable {
        let start = ContinuousClock.now
        private let seconds = Mutex(0.0)

        func set(_ seconds: Double) { self.seconds.withLock { $0 = seconds } }
        func at(_ seconds: Double) -> ContinuousClock.Instant { self.start + .seconds(seconds) }
        var now: ContinuousClock.Instant { self.at(self.seconds.withLock { $0 }) }
    }

    private enum Step: Sendable {
        case extend(to: Double)
        case end(isFinal: Bool)
    }

    private let clock = Clock()

    /// The lease lasts until second 4. The arguments are the lease's changes with their times, and
    /// the time of the check. The last two arguments say whether a term that began with the lease
    /// is still valid, and whether a new term can begin.
    @Test(
        arguments: [
            ([], 3.9, true, true), ([], 4, false, false),
            ([(1, Step.extend(to: 5))], 4.9, true, true), ([(1, .extend(to: 5))], 5, false, false),
            ([(3.9, .extend(to: 8))], 7, true, true),
            // After the lease had a gap, however short, requests that began before the gap are
            // abandoned.
            ([(4, .extend(to: 8))], 7, false, true), ([(100, .extend(to: 104))], 101, false, true),
            // A late answer to a renewal does not shorten the lease.
            ([(1, .extend(to: 3))], 3.9, true, true),
            ([(1, .end(isFinal: false))], 1, false, false),
            ([(1, .end(isFinal: false)), (2, .extend(to: 6))], 3, false, true),
            ([(1, .end(isFinal: true)), (2, .extend(to: 6))], 3, false, false),
        ] as [([(Double, Step)], Double, Bool, Bool)]
    )
    private func termHoldsUntilAGap(steps: [(Double, Step)], at time: Double, holds: Bool, runs: Bool)
        throws
    {
        let lease = CredentialLease(goodUntil: self.clock.at(4)) { [clock] in clock.now }
        let term = try #require(lease.term)
        for (time, step) in steps {
            self.clock.set(time)
            switch step {
            case .extend(let end): lease.extend(until: self.clock.at(end))
            case .end(let isFinal): lease.end(isFinal: isFinal)
            }
        }
        self.clock.set(time)
        #expect(lease.holds(term) == holds)
        #expect((lease.term != nil) == runs)
        #expect(((try? lease.check(term)) != nil) == holds)
    }

    @Test func everyListenerHearsOfNotedEnds() {
        let lease = CredentialLease(goodUntil: self.clock.at(4)) { [clock] in clock.now }
        let heard = Mutex<[[CredentialLease.End]]>([])
        lease.onEnd { ends in heard.withLock { $0.append(ends) } }
        lease.onEnd { ends in heard.withLock { $0.append(ends) } }
        lease.record([])
        lease.record([.user(1), .everything])
        #expect(heard.withLock { $0 } == [[.user(1), .everything], [.user(1), .everything]])
    }
}
