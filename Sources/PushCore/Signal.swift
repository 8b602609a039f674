internal import Synchronization

/// A signal for one waiting task; if the signal is set while no task waits, the next wait returns
/// at once.
package final class Signal: Sendable {
    private enum State {
        case silent
        case rung
        case awaited(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.silent)

    package init() {}

    /// Whether a task waits for the signal now. Tests need this before they set the signal.
    var isAwaited: Bool {
        self.state.withLock { if case .awaited = $0 { true } else { false } }
    }

    package func set() {
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

    /// Returns when the signal is set, or after `timeout`. It may also return earlier.
    ///
    /// Only one task may wait at a time. Cancellation does not end the wait: the cancellation
    /// handler must set the signal.
    package func wait(atMost timeout: Duration) async {
        await withTaskGroup { group in
            group.addTask {
                // This task is cancelled when the signal was set before the timeout, or together
                // with the waiting task. In the second case the cancellation handler sets the
                // signal.
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
