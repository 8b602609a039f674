internal import Cryptography
package import Foundation
internal import Synchronization

/// The keys of today and of the days to come, each of which seals what need not be read after its day.
///
/// They come from a `DayChain` that every process that shares the store has. Any thread may use them.
package final class DayKeys: Sendable {
    /// Keys of days that are further away than this are not derived: no payload lives for so long.
    package static let reach: UInt32 = 400

    private struct State {
        var chain: DayChain
        /// The keys of the chain's first day and of those that follow it, as far as they were needed.
        var keys: [SymmetricKey] = []
        /// The chain that begins with the first day whose key is not there yet.
        var rest: DayChain
        var isSealing: Bool

        init(_ chain: DayChain, isSealing: Bool) {
            (self.chain, self.rest, self.isSealing) = (chain, chain, isSealing)
        }
    }

    private let state: Mutex<State>

    /// - Parameter isSealing: Whether all processes that share the store have day keys.
    package init(_ chain: DayChain, isSealing: Bool) {
        self.state = Mutex(State(chain, isSealing: isSealing))
    }

    package var chain: DayChain { self.state.withLock { $0.chain } }

    /// Whether new values are sealed with them.
    package var isSealing: Bool { self.state.withLock { $0.isSealing } }

    /// Seals with them from now on.
    package func beginSealing() {
        self.state.withLock { $0.isSealing = true }
    }

    /// Forgets the keys of all days before that of the chain.
    package func advance(to chain: DayChain) {
        self.state.withLock { state in
            guard chain.day > state.chain.day else { return }
            let gone = Int(chain.day.number - state.chain.day.number)
            state.keys.removeFirst(min(gone, state.keys.count))
            if state.keys.isEmpty { state.rest = chain }
            state.chain = chain
        }
    }

    /// The key of a day; `nil` if it was destroyed, or if the day is too far away.
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

/// The last day on which a value must be readable.
package struct SealedUntil: Sendable, Hashable {
    package let day: Day

    /// What may be read once is sealed for a day at a time, and anew as long as it is not taken: then its bytes are unreadable
    /// soon after it was. Other values are sealed until they expire.
    package init(expiresAt: Date, isReadOnce: Bool, now: Date) {
        let expiry = Day(of: expiresAt)
        self.day = isReadOnce ? min(expiry, Day(of: now).next) : expiry
    }
}
