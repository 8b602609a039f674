package import Testing

/// Runs each test of a suite more than once, each time under different circumstances.
package struct Repetition: SuiteTrait, TestTrait, TestScoping {
    /// Runs a test once for each circumstance.
    let repeats: @Sendable (_ run: @Sendable () async throws -> Void) async throws -> Void

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        // The suite itself is not a test case, and runs once.
        guard testCase != nil else { return try await function() }
        try await self.repeats(function)
    }
}
