internal import Synchronization

/// A bell that one task listens for; rung while nobody listens, it is remembered once.
package final class Signal: Sendable {
    private enum State {
        case silent
        case rung
        case awaited(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.silent)

    package init() {}

    /// Whether a task listens at this moment, which a test must know before it rings.
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

    /// Returns when it is rung, or after `timeout`; maybe early. One listener at a time, who has it rung where its task is
    /// cancelled.
    package func wait(atMost timeout: Duration) async {
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
