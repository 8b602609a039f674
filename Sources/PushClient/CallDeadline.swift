internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// When a call of the client must be over, with all of its requests.
///
/// A call that makes several, such as one that registers, sets it for all of them.
enum CallDeadline {
    @TaskLocal private static var current: ContinuousClock.Instant?

    /// Runs a call that makes several requests; one within another has what is left of the outer one's time.
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
}
