import PushTesting
import Testing

/// The client for Android, on Debian's JVM.
@Suite(.timeLimit(.minutes(15))) struct AndroidClientTests {
    /// Runs its own tests with the vectors of `docs/evidence/vectors`, and checks its use of the
    /// platform and the snippets of its guide.
    @Test func theClientForAndroidPassesItsTests() async throws {
        let ended = try await Scripts.start("android-client", ["check"]).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }
}
