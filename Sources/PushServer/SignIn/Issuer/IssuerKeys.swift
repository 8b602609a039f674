package import Foundation
package import PushCore
internal import Synchronization

/// The keys of an issuer as they were read last, and the requests that wait for them to be read again. Any thread may use it.
///
/// Who reads them asks for a number with `begin` and gives what was found to `end`. A request with a key that is not known
/// waits for a reading that begins after it; how often that happens is the reader's to say, so that strangers who invent keys
/// cost the issuer nothing.
package final class IssuerKeys: Sendable {
    /// What came of a reading.
    enum Refresh: Sendable, Hashable {
        case done
        /// It failed, has taken too long, or too many wait for it.
        case failed
    }

    private struct Waiter {
        let signal: Signal
        /// The last reading that had begun.
        let after: Int
        /// That of the first reading that counts.
        var outcome: Refresh?
    }

    private struct State {
        var keys: IssuerKeySet?
        var readAt: Date?
        /// Another one whenever a key has gone.
        var generation = 0
        var begun = 0
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    /// How many requests may wait.
    private static let bound = 1000
    /// How long one waits.
    private static let timeout = Duration.seconds(12)

    /// Rings when somebody waits.
    package let wanted = Signal()
    /// How long after they were read keys are good, while the issuer does not answer.
    private let kept: TimeInterval
    private let state = Mutex(State())

    package init(kept: TimeInterval) {
        self.kept = kept
    }

    /// The keys, and a number that changes when one of them goes; `nil` if they were never read, or too long ago.
    func current(now: Date) -> (keys: IssuerKeySet, generation: Int)? {
        self.state.withLock { state in
            guard let keys = state.keys, let readAt = state.readAt, now < readAt + self.kept else { return nil }
            return (keys, state.generation)
        }
    }

    /// Whether a token that was right under the keys of that generation is right under those of now.
    func isCurrent(_ generation: Int, now: Date) -> Bool {
        self.current(now: now)?.generation == generation
    }

    /// When the keys were read last.
    package var readAt: Date? { self.state.withLock { $0.readAt } }

    /// Begins a reading. Returns its number, for `end`.
    package func begin() -> Int {
        self.state.withLock { state in
            state.begun += 1
            return state.begun
        }
    }

    /// Ends a reading; `nil`: it has failed, and the old keys stay.
    package func end(_ reading: Int, with keys: IssuerKeySet?, now: Date) {
        let signals = self.state.withLock { state in
            if let keys {
                if state.keys?.isContained(in: keys) == false { state.generation += 1 }
                state.keys = keys
                state.readAt = now
            }
            var signals: [Signal] = []
            for (number, waiter) in state.waiters where waiter.after < reading && waiter.outcome == nil {
                state.waiters[number]?.outcome = keys == nil ? .failed : .done
                signals.append(waiter.signal)
            }
            return signals
        }
        for signal in signals { signal.set() }
    }

    /// Waits for a reading that begins from now on.
    func refreshed() async -> Refresh {
        let signal = Signal()
        let number: Int? = self.state.withLock { state in
            guard state.waiters.count < Self.bound else { return nil }
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
