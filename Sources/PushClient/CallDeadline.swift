/// The time by which a call of the client must end, with all of its requests.
///
/// A call that makes several requests, such as registering, sets one deadline for all of its
/// requests.
enum CallDeadline {
    @TaskLocal static var current: ContinuousClock.Instant?

    /// Runs a call that makes several requests; a nested call has the remaining time of the outer
    /// call.
    static func within<Value>(_ limit: Duration, _ body: () async throws -> Value) async throws -> Value {
        if self.current != nil { return try await body() }
        guard limit > .zero else { throw PushClientError.invalidValue("deadline: it is not positive") }
        return try await self.$current.withValue(.now + limit) { try await body() }
    }

    /// The remaining time for a part of the call; throws ``PushClientError/offline(_:)`` if no
    /// time is left.
    static func remaining(atMost limit: Duration) throws -> Duration {
        guard let end = self.current else { return limit }
        let remaining = ContinuousClock.now.duration(to: end)
        guard remaining > .zero else { throw PushClientError.timedOut }
        return min(remaining, limit)
    }

    /// Runs a closure of the app, and abandons it when the time is over or the caller is
    /// cancelled.
    ///
    /// The closure is then cancelled, but may still run, for example if it waits for a callback in
    /// a continuation. Throws `PushClientError.timedOut`, `CancellationError`, and the closure's
    /// own errors.
    static func race<Value: Sendable>(
        within limit: Duration,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let first = FirstResult<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                first.await(continuation) {
                    // A task group would wait for both tasks. Here the first result cancels them.
                    let work = Task {
                        do { first.end(.success(try await body())) } catch { first.end(.failure(error)) }
                    }
                    let clock = Task {
                        // The first result cancels this sleep.
                        try await Task.sleep(for: limit)
                        first.end(.failure(PushClientError.timedOut))
                    }
                    return {
                        work.cancel()
                        clock.cancel()
                    }
                }
            }
        } onCancel: {
            first.end(.failure(CancellationError()))
        }
    }
}
