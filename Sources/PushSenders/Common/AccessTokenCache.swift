internal import Foundation
internal import PushCore
internal import Synchronization

/// The access token of one credential. It is fetched when a push needs it, once for all waiting
/// callers.
///
/// While one caller renews a token that is still valid, the others keep using it. The cache uses a
/// `Mutex`, not an actor, because a cancelled waiter must leave the queue at once. In addition, a
/// push that finds the token in the cache gets it without a suspension.
final class AccessTokenCache: Sendable {
    typealias Fetch = @Sendable () async throws(SendFailure) -> AccessToken

    /// A caller that waits for the current fetch. It gets `nil` if the fetch was cancelled; then
    /// one of the waiters fetches the token.
    private typealias Waiter = CheckedContinuation<Result<Secret<String>, SendFailure>?, Never>

    /// The time between a failed renewal and the next attempt. The old token is used meanwhile.
    private static let delayAfterFailure: TimeInterval = 30

    private struct State {
        var token: AccessToken?
        var fetchedAt = Date.distantPast
        var isFetching = false
        var noRenewalBefore = Date.distantPast
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
    }

    private enum Step {
        case use(Secret<String>)
        case fetch
        case wait
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> Date
    private let fetch: Fetch

    init(now: @escaping @Sendable () -> Date, fetch: @escaping Fetch) {
        self.now = now
        self.fetch = fetch
    }

    /// Returns a valid token. If the cache has none, fetches a token, or waits until another
    /// caller has fetched it.
    func token() async throws(SendFailure) -> Secret<String> {
        while true {
            switch self.nextStep() {
            case .use(let token): return token
            case .fetch: return try await self.renew()
            case .wait:
                if let result = await self.outcomeOfFlight() { return try result.get() }
                if Task.isCancelled { throw .unavailable(reason: "cancelled") }
            }
        }
    }

    /// Evicts a token that the provider no longer accepts, unless it has been replaced already.
    ///
    /// If the token is younger than `age` seconds, keeps it and returns `false`.
    func discard(_ token: Secret<String>, ifOlderThan age: TimeInterval = 0) -> Bool {
        let now = self.now()
        return self.state.withLock { state in
            guard state.token?.text.exposed == token.exposed else { return true }
            guard now.timeIntervalSince(state.fetchedAt) >= age else { return false }
            state.token = nil
            return true
        }
    }

    // MARK: - Private

    private func nextStep() -> Step {
        let now = self.now()
        return self.state.withLock { state in
            if let token = state.token, now < token.expiresAt {
                let isDue = now >= token.renewAt && now >= state.noRenewalBefore
                if !isDue || state.isFetching { return .use(token.text) }
            } else if state.isFetching {
                return .wait
            }
            state.isFetching = true
            return .fetch
        }
    }

    private func renew() async throws(SendFailure) -> Secret<String> {
        do throws(SendFailure) {
            let token = try await self.fetch()
            let now = self.now()
            self.land { state in
                state.token = token
                state.fetchedAt = now
                return .success(token.text)
            }
            return token.text
        } catch {
            let now = self.now()
            // If this task is cancelled, the waiting callers go on: one of them takes over the
            // fetch.
            let isCancelled = Task.isCancelled
            let old = self.state.withLock { $0.token }
            self.land { state in
                state.noRenewalBefore = now + Self.delayAfterFailure
                return isCancelled ? nil : .failure(error)
            }
            if let old, now < old.expiresAt { return old.text }
            throw error
        }
    }

    /// Ends the fetch and resumes all waiters with its result.
    private func land(_ body: (inout State) -> Result<Secret<String>, SendFailure>?) {
        let (waiters, result) = self.state.withLock { state in
            let result = body(&state)
            state.isFetching = false
            defer { state.waiters.removeAll() }
            return (state.waiters.values, result)
        }
        for waiter in waiters { waiter.resume(returning: result) }
    }

    /// Waits until the current fetch ends or this task is cancelled. The fetch ends at the
    /// deadline of its call at the latest.
    private func outcomeOfFlight() async -> Result<Secret<String>, SendFailure>? {
        let id = self.state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = self.state.withLock { state in
                    // The fetch may have ended, or the task may have been cancelled, since the
                    // caller checked.
                    guard state.isFetching, !Task.isCancelled else { return false }
                    state.waiters[id] = continuation
                    return true
                }
                if !mustWait { continuation.resume(returning: nil) }
            }
        } onCancel: {
            self.state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: nil)
        }
    }
}
