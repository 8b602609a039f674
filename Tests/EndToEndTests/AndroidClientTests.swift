import PushTesting
import Testing

/// The client for Android, on the JVM of Debian.
@Suite(.timeLimit(.minutes(5))) struct AndroidClientTests {
    /// Its own tests with the vectors of `docs/vectors`, what it uses of the platform, and the snippets of its guide.
    @Test func theClientForAndroidKeepsTheRules() async throws {
        let ended = try await Scripts.start("android-client", ["check"]).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }
}
