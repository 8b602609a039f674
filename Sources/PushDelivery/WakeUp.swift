internal import PushCore
internal import ServiceLifecycle
internal import Synchronization

/// Tells the sender loops that the outbox has new work. Calling costs next to nothing and never blocks.
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
    /// Runs a loop that listens, and rings when it is to end: at graceful shutdown and at cancellation.
    func signallingAtShutdown(_ loop: () async -> Void) async {
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
