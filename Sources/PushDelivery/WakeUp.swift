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

/// A bell that one task listens for; rung while nobody listens, it is remembered once.
final class Signal: Sendable {
    private enum State {
        case silent
        case rung
        case awaited(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.silent)

    func set() {
        let waiter = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
            if case .awaited(let waiter) = state {
                state = .silent
                return waiter
            }
            state = .rung
            return nil
        }
        waiter?.resume()
    }

    /// Runs a loop that listens, and rings when it is to end: at graceful shutdown and at cancellation.
    func ringingAtTheEnd(_ loop: () async -> Void) async {
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

    /// Returns when it is rung, or after `timeout`; maybe early. One listener at a time.
    func wait(atMost timeout: Duration) async {
        await withTaskGroup { group in
            group.addTask {
                // Cancelled when the bell was first; whoever cancels the task as a whole rings it, too.
                guard (try? await Task.sleep(for: timeout)) != nil else { return }
                self.set()
            }
            await withCheckedContinuation { continuation in
                let isRung = self.state.withLock { state in
                    if case .rung = state {
                        state = .silent
                        return true
                    }
                    state = .awaited(continuation)
                    return false
                }
                if isRung { continuation.resume() }
            }
            group.cancelAll()
        }
    }
}
