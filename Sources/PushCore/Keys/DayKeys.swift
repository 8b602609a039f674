internal import Cryptography
package import Foundation
internal import Synchronization

/// The keys of today and of later days. The key of a day encrypts values that nobody needs to read
/// after that day.
///
/// All servers that share the store derive these keys from the same `DayChain`. Any thread may use
/// this object.
package final class DayKeys: Sendable {
    /// Keys are derived for at most this number of days after the chain's first day: no payload is
    /// stored for so long.
    package static let reach: UInt32 = 400

    private struct State {
        var chain: DayChain
        /// The keys of the chain's first day and of the following days, up to the last day whose
        /// key was needed.
        var keys: [SymmetricKey] = []
        /// The chain that begins with the first day whose key is not derived yet.
        var rest: DayChain
        var isSealing: Bool

        init(_ chain: DayChain, isSealing: Bool) {
            (self.chain, self.rest, self.isSealing) = (chain, chain, isSealing)
        }
    }

    private let state: Mutex<State>

    /// - Parameter isSealing: Whether day keys encrypt new values. All servers that share the
    /// store must then have day keys.
    package init(_ chain: DayChain, isSealing: Bool) {
        self.state = Mutex(State(chain, isSealing: isSealing))
    }

    package var chain: DayChain { self.state.withLock { $0.chain } }

    /// Whether day keys encrypt new values.
    package var isSealing: Bool { self.state.withLock { $0.isSealing } }

    /// Makes day keys encrypt new values from now on.
    package func beginSealing() {
        self.state.withLock { $0.isSealing = true }
    }

    /// Destroys the keys of all days before the chain's first day.
    package func advance(to chain: DayChain) {
        self.state.withLock { state in
            guard chain.day > state.chain.day else { return }
            let gone = Int(chain.day.number - state.chain.day.number)
            state.keys.removeFirst(min(gone, state.keys.count))
            if state.keys.isEmpty { state.rest = chain }
            state.chain = chain
        }
    }

    /// The key of a day; `nil` if it was destroyed, or if the day is too far in the future.
    func key(of day: Day) -> SymmetricKey? {
        self.state.withLock { state in
            let first = state.chain.day
            guard day >= first, day.number - first.number <= Self.reach else { return nil }
            let index = Int(day.number - first.number)
            while state.keys.count <= index {
                state.keys.append(state.rest.key)
                state.rest = state.rest.next
            }
            return state.keys[index]
        }
    }
}

/// The last day on which it must be possible to decrypt a value.
package struct SealedUntil: Sendable, Hashable {
    package let day: Day

    /// A read-once payload is encrypted with the key of the next day, or of the present day if it
    /// expires on that day. It is encrypted again each day until its recipient has fetched it, so
    /// its bytes become unreadable soon after the fetch. Other values are encrypted with the key
    /// of the day on which they expire.
    package init(expiresAt: Date, isReadOnce: Bool, now: Date) {
        let expiry = Day(of: expiresAt)
        self.day = isReadOnce ? min(expiry, Day(of: now).next) : expiry
    }
}
