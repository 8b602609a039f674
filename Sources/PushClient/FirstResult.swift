internal import Synchronization

/// Of several results the first, handed over once.
///
/// A lock rather than an actor, since a cancelled call must leave at once.
final class FirstResult<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var continuation: CheckedContinuation<Value, any Error>?
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Starts what brings results, unless there is one already; `start` returns how it is
    /// cancelled.
    func await(_ continuation: CheckedContinuation<Value, any Error>, _ start: () -> @Sendable () -> Void) {
        let known = self.state.withLock { state in
            if state.result == nil { state.continuation = continuation }
            return state.result
        }
        if let known { return continuation.resume(with: known) }
        let cancel = start()
        let isOver = self.state.withLock { state in
            if state.result == nil { state.cancel = cancel }
            return state.result != nil
        }
        if isOver { cancel() }
    }

    /// Only the first call has an effect.
    func end(_ result: Result<Value, any Error>) {
        let (continuation, cancel) = self.state.withLock { state in
            // Only the first one finds somebody who waits.
            defer { (state.result, state.continuation, state.cancel) = (state.result ?? result, nil, nil) }
            return (state.continuation, state.cancel)
        }
        continuation?.resume(with: result)
        cancel?()
    }
}
