package import Foundation
package import PushCore
internal import Synchronization

/// The keys of an issuer as they were last read, and the requests that wait for the next read. Any
/// thread may use it.
///
/// The reader of the keys gets a number from `begin`, and passes its result to `end`. A request
/// with an unknown key waits for a read that begins after the request. The reader decides how
/// often it reads, so that strangers who invent keys cannot make it send many requests to the
/// issuer.
package final class IssuerKeys: Sendable {
    /// The result of a read.
    enum Refresh: Sendable, Hashable {
        case done
        /// The read failed or took too long, or too many requests wait for it.
        case failed
    }

    private struct Waiter {
        let signal: Signal
        /// The number of the last read that had begun before the wait.
        let after: Int
        /// The outcome of the first read that began after the wait and has ended.
        var outcome: Refresh?
    }

    private struct State {
        var keys: IssuerKeySet?
        /// The keys that the last read skipped.
        var skipped: Set<SkippedKey> = []
        var readAt: Date?
        /// Changes whenever a key is removed.
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
    /// How long keys are valid after they were read, while the issuer does not answer.
    private let kept: TimeInterval
    private let state = Mutex(State())

    package init(kept: TimeInterval) {
        self.kept = kept
    }

    /// The keys, and a number that changes when one of them is removed; `nil` if they were never
    /// read, or too long ago.
    func current(now: Date) -> (keys: IssuerKeySet, generation: Int)? {
        self.state.withLock { state in
            guard let keys = state.keys, let readAt = state.readAt, now < readAt + self.kept else { return nil }
            return (keys, state.generation)
        }
    }

    /// Whether a token that was valid under the keys of that generation is valid under the current
    /// ones.
    func isCurrent(_ generation: Int, now: Date) -> Bool {
        self.current(now: now)?.generation == generation
    }

    /// The time at which the keys were last read.
    package var readAt: Date? { self.state.withLock { $0.readAt } }

    /// Begins a read. Returns its number, for `end`.
    package func begin() -> Int {
        self.state.withLock { state in
            state.begun += 1
            return state.begun
        }
    }

    /// Ends a read. If `keys` is `nil`, it has failed, and the old keys stay.
    ///
    /// Returns the keys that it skipped and the read before did not, so that the log names each
    /// once.
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

    /// Waits for a read that begins from now on.
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
