internal import Reactor

extension EventLoop {
    /// Runs `start` on the event loop, immediately if the caller is on the loop. Waits until
    /// `start`, or the work that it begins, has called the completion.
    ///
    /// The continuation is unsafe, because a checked one costs an allocation for each statement.
    /// The pool calls each completion exactly once, even when it closes.
    func outcome<Value: Sendable>(
        _ start: @escaping @Sendable (@escaping (Result<Value, DatabaseError>) -> Void) -> Void
    ) async -> Result<Value, DatabaseError> {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Result<Value, DatabaseError>, Never>) in
            if self.isCurrent {
                start { continuation.resume(returning: $0) }
            } else if !self.execute({ start { continuation.resume(returning: $0) } }) {
                continuation.resume(returning: .failure(.unavailable(reason: "the event loop has ended")))
            }
        }
    }

    /// Computes a value on the loop; `nil` if the loop has ended.
    func value<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
        if self.isCurrent { return body() }
        return await withUnsafeContinuation { (continuation: UnsafeContinuation<Value?, Never>) in
            if !self.execute({ continuation.resume(returning: body()) }) { continuation.resume(returning: nil) }
        }
    }
}
