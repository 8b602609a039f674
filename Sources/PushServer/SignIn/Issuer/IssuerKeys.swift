package import Foundation
package import PushCore
internal import Synchronization

/// The keys of an issuer as they were last read, and the requests that wait for the next read. Any
/// thread may use this object.
///
/// The task that reads the keys gets a number from `begin`, and passes the result of the read to
/// `end`. A request whose token names an unknown key waits for a read that begins after the
/// request. The task alone decides how often it reads. So strangers who invent keys cannot make it
/// send many requests to the issuer.
package final class IssuerKeys: Sendable {
    /// The result of a read.
    enum Refresh: Sendable, Hashable {
        case done
        /// The read failed or took too long, or too many requests wait for a read.
        case failed
    }

    private struct Waiter {
        let signal: Signal
        /// The number of the last read that had begun when the wait began.
        let after: Int
        /// The outcome of the first read that began after the wait had begun; `nil` until this
        /// read has ended.
        var outcome: Refresh?
    }

    private struct State {
        var keys: IssuerKeySet?
        /// The keys that the last read skipped, because the server cannot use them.
        var skipped: Set<SkippedKey> = []
        var readAt: Date?
        /// A number that changes whenever a key is removed.
        var generation = 0
        var begun = 0
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    /// The largest number of waiting requests.
    private static let limit = 1000
    /// How long a request waits.
    private static let timeout = Duration.seconds(12)

    /// Signals that a request waits.
    package let wanted = Signal()
    /// How long keys stay valid after they were last read, if the issuer does not answer any more.
    private let kept: TimeInterval
    private let state = Mutex(State())

    package init(kept: TimeInterval) {
        self.kept = kept
    }

    /// The keys, and the generation: a number that changes when a key is removed. `nil` if the
    /// keys were never read, or were last read too long ago.
    func current(now: Date) -> (keys: IssuerKeySet, generation: Int)? {
        self.state.withLock { state in
            guard let keys = state.keys, let readAt = state.readAt, now < readAt + self.kept else { return nil }
            return (keys, state.generation)
        }
    }

    /// Whether a token that was verified with the keys of that generation is still valid: no key
    /// was removed since.
    func isCurrent(_ generation: Int, now: Date) -> Bool {
        self.current(now: now)?.generation == generation
    }

    /// The time at which the keys were last read.
    package var readAt: Date? { self.state.withLock { $0.readAt } }

    /// Begins a read of the keys. Returns the number of the read, which `end` needs.
    package func begin() -> Int {
        self.state.withLock { state in
            state.begun += 1
            return state.begun
        }
    }

    /// Ends a read. If `keys` is `nil`, the read has failed, and the old keys stay in use.
    ///
    /// Returns the keys that this read has skipped but the read before has not, so that the log
    /// names each skipped key once.
    @discardableResult
    package func end(_ reading: Int, with keys: IssuerKeySet?, now: Date) -> [SkippedKey] {
        let (signals, skipped) = self.state.withLock { state in
            var skipped: [SkippedKey] = []
            if let keys {
                skipped = keys.skipped.filter { !state.skipped.contains($0) }
                state.skipped = Set(keys.skipped)
                if state.keys?.isContained(in: keys) == false { state.generation += 1 }
                state.keys = keys
                state.readAt = now
            }
            var signals: [Signal] = []
            for (number, waiter) in state.waiters where waiter.after < reading && waiter.outcome == nil {
                state.waiters[number]?.outcome = keys == nil ? .failed : .done
                signals.append(waiter.signal)
            }
            return (signals, skipped)
        }
        for signal in signals { signal.set() }
        return skipped
    }

    /// Waits for the end of a read that begins after this call. Returns its outcome.
    func refreshed() async -> Refresh {
        let signal = Signal()
        let number: Int? = self.state.withLock { state in
            guard state.waiters.count < Self.limit else { return nil }
            state.lastWaiter += 1
            state.waiters[state.lastWaiter] = Waiter(signal: signal, after: state.begun)
            return state.lastWaiter
        }
        guard let number else { return .failed }
        self.wanted.set()
        await withTaskCancellationHandler {
            await signal.wait(atMost: Self.timeout)
        } onCancel: {
            signal.set()
        }
        return self.state.withLock { $0.waiters.removeValue(forKey: number)?.outcome ?? .failed }
    }
}
