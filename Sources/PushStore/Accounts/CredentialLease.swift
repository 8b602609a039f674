package import PushCore
internal import Synchronization

/// Until when this process may go by credentials that it remembers, where other processes may end them.
///
/// It learns of each end before the process that ended something answers, or its lease has run out by then. Whoever remembers
/// credentials, or goes on with what they have begun, asks it first. Any thread may use it.
package final class CredentialLease: Sendable {
    /// What is not good any more, or means something else from now on.
    package enum End: Sendable, Hashable {
        /// Of all users.
        case everything
        /// All credentials of a user.
        case user(Int64)
        /// One token of a user.
        case token(Fingerprint, user: Int64)
    }

    /// A time without gaps, in which the process has learnt of all ends in time.
    package struct Term: Sendable, Hashable {
        fileprivate let number: Int
    }

    private struct State {
        var goodUntil: ContinuousClock.Instant
        var term = Term(number: 1)
        var isEnded = false
        var listeners: [@Sendable ([End]) -> Void] = []
    }

    /// The term in which the request that runs has begun; `nil`: what runs is no request, or no term was running, and its
    /// credentials were read from the database.
    @TaskLocal package static var admission: Term?

    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    package init(
        goodUntil: ContinuousClock.Instant,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.now = now
        self.state = Mutex(State(goodUntil: goodUntil))
    }

    /// The term that runs; `nil` while remembered credentials may have ended without this process.
    package var term: Term? {
        let now = self.now()
        return self.state.withLock { !$0.isEnded && now < $0.goodUntil ? $0.term : nil }
    }

    /// Whether the term runs, and has done so all the time.
    package func holds(_ term: Term) -> Bool { term == self.term }

    /// Throws `unavailable` if the term does not run any more.
    package func check(_ term: Term) throws(StoreError) {
        guard self.holds(term) else {
            throw .unavailable(reason: "the server was stopped, or cut off from the database, while it worked")
        }
    }

    /// Calls `body` with all that ends from now on, here too.
    package func onEnd(_ body: @escaping @Sendable ([End]) -> Void) {
        self.state.withLock { $0.listeners.append(body) }
    }

    /// Tells all listeners, and returns when they know.
    package func note(_ ends: [End]) {
        guard !ends.isEmpty else { return }
        for listener in self.state.withLock({ $0.listeners }) { listener(ends) }
    }

    /// Makes the lease longer, after all ends were noted. After a gap another term begins.
    package func extend(until end: ContinuousClock.Instant) {
        let now = self.now()
        self.state.withLock { state in
            if now >= state.goodUntil { state.term = Term(number: state.term.number &+ 1) }
            state.goodUntil = max(state.goodUntil, end)
        }
    }

    /// Ends the lease at once; `isFinal`: for good.
    package func end(isFinal: Bool) {
        let now = self.now()
        self.state.withLock { state in
            state.goodUntil = min(state.goodUntil, now)
            state.isEnded = state.isEnded || isFinal
        }
    }
}
