internal import Foundation
internal import PushCore
internal import Synchronization

/// The health of the receiver of events, and counts of messages and events. The sending loop, the
/// metrics and the reload of the configuration share this object; any thread may use it.
package final class EventStatus: Sendable {
    /// Counts since the start of the process.
    package struct Counts: Sendable, Hashable {
        package var delivered = 0
        /// The number of messages that were not acknowledged.
        package var failures = 0
        /// The number of events that were deleted because of their age before the receiver had
        /// acknowledged them.
        package var dropped = 0
    }

    private struct State {
        var health = EventReceiverHealth()
        var counts = Counts()
    }

    /// Wakes the loop that sends events.
    let signal = Signal()
    private let state = Mutex(State())

    package init() {}

    package var counts: Counts { self.state.withLock { $0.counts } }

    package var isPaused: Bool { self.state.withLock { $0.health.pause != nil } }

    /// Clears the receiver's failures, for example after a change of the secret, and makes the
    /// loop send again at once.
    package func reset() {
        self.state.withLock { $0.health = EventReceiverHealth() }
        self.signal.set()
    }

    /// The time until which no message may be sent; `nil` if a message may be sent now.
    func pausedUntil(now: Date) -> Date? {
        self.state.withLock { $0.health.pause.flatMap { $0.until > now ? $0.until : nil } }
    }

    /// Records that events were acknowledged. Returns a change of the receiver's health if an
    /// operator must know about it; otherwise `nil`.
    func recordDelivered(_ count: Int, now: Date) -> HealthEvent? {
        self.state.withLock { state in
            state.counts.delivered += count
            let old = state.health.pause
            state.health.recordSuccess()
            return HealthEvent(from: old, to: state.health.pause, now: now)
        }
    }

    /// Records a failure. Returns a change of the receiver's health if an operator must know about
    /// it; otherwise `nil`.
    func record(_ failure: SendFailure, now: Date, jitter: Double) -> HealthEvent? {
        self.state.withLock { state in
            state.counts.failures += 1
            let old = state.health.pause
            state.health.record(failure, now: now, jitter: jitter)
            return HealthEvent(from: old, to: state.health.pause, now: now)
        }
    }

    func recordDropped(_ count: Int) {
        self.state.withLock { $0.counts.dropped += count }
    }
}
