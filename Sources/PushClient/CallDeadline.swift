internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// When a call of the client must be over, with all of its requests.
///
/// A call that makes several, such as one that registers, sets it for all of them.
enum CallDeadline {
    @TaskLocal static var current: ContinuousClock.Instant?

    /// Runs a call that makes several requests; one within another has what is left of the outer
    /// one's time.
    static func within<Value>(_ limit: Duration, _ body: () async throws -> Value) async throws -> Value {
        if self.current != nil { return try await body() }
        return try await self.$current.withValue(.now + limit) { try await body() }
    }

    /// What is left for a part of the call; throws `URLError.timedOut` if nothing is.
    static func rest(atMost limit: Duration) throws -> Duration {
        guard let end = self.current else { return limit }
        let rest = ContinuousClock.now.duration(to: end)
        guard rest > .zero else { throw URLError(.timedOut) }
        return min(rest, limit)
    }

    /// Runs what the app gave, and leaves it to itself when the time is over or the caller is
    /// cancelled.
    ///
    /// It is cancelled then, which may not end it: a closure that waits for a callback in a
    /// continuation waits on. Throws `URLError.timedOut`, `CancellationError`, and what the
    /// closure throws.
    static func race<Value: Sendable>(
        within limit: Duration,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let first = FirstResult<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                first.await(continuation) {
                    // A task group would wait for its children. These end, as far as they do, with
                    // the first result.
                    let work = Task {
                        do { first.end(.success(try await body())) } catch { first.end(.failure(error)) }
                    }
                    let clock = Task {
                        // Cancelled when the work is over.
                        try await Task.sleep(for: limit)
                        first.end(.failure(URLError(.timedOut)))
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
