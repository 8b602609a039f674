/// The first of several results, delivered once.
///
/// The class uses a lock rather than an actor, because a cancelled call must return at once.
final class FirstResult<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var continuation: CheckedContinuation<Value, any Error>?
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    /// Starts the work, unless there is a result already; `start` returns the closure that cancels
    /// the work.
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

    /// Delivers a result. Only the first call has an effect.
    func end(_ result: Result<Value, any Error>) {
        let (continuation, cancel) = self.state.withLock { state in
            // Later calls find no continuation.
            defer { (state.result, state.continuation, state.cancel) = (state.result ?? result, nil, nil) }
            return (state.continuation, state.cancel)
        }
        continuation?.resume(with: result)
        cancel?()
    }
}
