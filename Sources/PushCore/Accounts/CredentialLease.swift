internal import Synchronization

/// The lease during which this server trusts cached credentials, although other servers can end
/// them.
///
/// When another server ends credentials, it waits with its answer until this server has learnt of
/// their end, or until this lease has expired. Code must check the lease before it uses cached
/// credentials, or continues work that it began with them. Any thread may use this object.
package final class CredentialLease: Sendable {
    /// Credentials that are no longer valid, or whose rights have changed.
    package enum End: Sendable, Hashable {
        /// All credentials of all users.
        case everything
        /// All credentials of a user.
        case user(Int64)
        /// One token of a user.
        case token(Fingerprint, user: Int64)
    }

    /// A period during which the lease never expired. So during this period, the server has learnt
    /// in time of all credentials that have ended.
    package struct Term: Sendable, Hashable {
        fileprivate let number: Int
    }

    private struct State {
        var goodUntil: ContinuousClock.Instant
        var term = Term(number: 1)
        var isEnded = false
        var listeners: [@Sendable ([End]) -> Void] = []
    }

    /// The term (period without an expiry of the lease) in which the running request began. `nil`
    /// if no request is running. Also `nil` if the request began outside a term: the server then
    /// read its credentials from the database.
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

    /// The running term (period without an expiry of the lease); `nil` while cached credentials
    /// may have ended without this server's knowledge.
    package var term: Term? {
        let now = self.now()
        return self.state.withLock { !$0.isEnded && now < $0.goodUntil ? $0.term : nil }
    }

    /// Whether the lease has never expired since the term began.
    package func holds(_ term: Term) -> Bool { term == self.term }

    /// Adds a listener. It gets all credentials that end from now on, whichever server ends them.
    package func onEnd(_ body: @escaping @Sendable ([End]) -> Void) {
        self.state.withLock { $0.listeners.append(body) }
    }

    /// Passes ended credentials to all listeners. Returns when the listeners have handled them.
    package func record(_ ends: [End]) {
        guard !ends.isEmpty else { return }
        for listener in self.state.withLock({ $0.listeners }) { listener(ends) }
    }

    /// Extends the lease. Call it after the listeners have received all credentials that have
    /// ended. If the lease had already expired, a new term begins.
    package func extend(until end: ContinuousClock.Instant) {
        let now = self.now()
        self.state.withLock { state in
            if now >= state.goodUntil { state.term = Term(number: state.term.number &+ 1) }
            state.goodUntil = max(state.goodUntil, end)
        }
    }

    /// Ends the lease at once. With `isFinal`, it can never be extended again.
    package func end(isFinal: Bool) {
        let now = self.now()
        self.state.withLock { state in
            state.goodUntil = min(state.goodUntil, now)
            state.isEnded = state.isEnded || isFinal
        }
    }
}
