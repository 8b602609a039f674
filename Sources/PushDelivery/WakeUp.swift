package import PushCore
internal import ServiceLifecycle
internal import Synchronization

/// Wakes the loops that wait for an event, such as a new push in the outbox. A call is cheap and
/// never blocks.
package final class WakeUp: Sendable {
    private let signals = Mutex<[Signal]>([])

    package init() {}

    package func callAsFunction() {
        for signal in self.signals.withLock({ $0 }) { signal.set() }
    }

    func makeSignal() -> Signal {
        let signal = Signal()
        self.signals.withLock { $0.append(signal) }
        return signal
    }
}

extension Signal {
    /// Runs `loop`, which waits for this signal. Sets the signal at graceful shutdown and at
    /// cancellation.
    package func signallingAtShutdown(_ loop: () async -> Void) async {
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await loop()
            } onGracefulShutdown: {
                self.set()
            }
        } onCancel: {
            self.set()
        }
    }
}
