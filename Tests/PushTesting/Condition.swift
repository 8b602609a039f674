/// Waits until a condition is true. Throws if it is not true within `limit`, because a test that
/// waits for ever would keep the whole suite from ending.
///
/// ```swift
/// try await eventually { store.isFull }
/// ```
package func eventually(
    within limit: Duration = .seconds(60),
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    var looks = 0
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw ConditionNotMet(limit: limit) }
        looks += 1
        // A condition that is still false after some checks will probably take longer to become
        // true. The pauses leave the processor to the work that makes the condition true.
        if looks < 20 { await Task.yield() } else { try await Task.sleep(for: .milliseconds(min(looks / 10, 10))) }
    }
}

/// A condition that a test waited for did not become true.
package struct ConditionNotMet: Error, CustomStringConvertible {
    let limit: Duration

    package var description: String { "what the test waits for did not come within \(self.limit)" }
}
