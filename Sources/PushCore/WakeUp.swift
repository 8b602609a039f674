internal import Synchronization

/// Wakes the loops that wait for an event, such as a new push in the outbox. A call is cheap and
/// never blocks.
package final class WakeUp: Sendable {
    private let calls = Mutex<[@Sendable () -> Void]>([])

    package init() {}

    package func callAsFunction() {
        for call in self.calls.withLock({ $0 }) { call() }
    }

    /// From now on, each wake-up also calls `body`, which must not block.
    package func onCall(_ body: @escaping @Sendable () -> Void) {
        self.calls.withLock { $0.append(body) }
    }

    package func makeSignal() -> Signal {
        let signal = Signal()
        self.onCall { signal.set() }
        return signal
    }
}
