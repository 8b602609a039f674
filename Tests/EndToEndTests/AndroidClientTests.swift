import PushTesting
import Testing

/// The client library for Android, tested on Debian's JVM.
@Suite(.timeLimit(.minutes(15))) struct AndroidClientTests {
    /// Runs the client's own tests with the vectors of `docs/evidence/vectors`. Also checks how
    /// the client uses the platform, and the snippets of its guide.
    @Test func theClientForAndroidPassesItsTests() async throws {
        let ended = try await Scripts.start("android-client", ["check"]).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }
}
