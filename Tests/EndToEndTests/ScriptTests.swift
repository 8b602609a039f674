import PushTesting
import Testing

/// What `make e2e` does at length, in short.
@Suite struct ScriptTests {
    @Test(arguments: ["nginx", "haproxy"])
    func noRequestFailsWhileTheDaemonIsRestarted(proxy: String) async throws {
        let script = try Scripts.start("restarts", [Daemon.executable, "--count", "10", "--proxy", proxy])
        let ended = await script.end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
        #expect(ended.output.hasPrefix("10 restarts behind \(proxy) in "))
    }

    @Test func noSecretIsOutOfPlace() async throws {
        let script = try Scripts.start("canaries", [Daemon.executable, "--count", "600"])
        let ended = await script.end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }

    @Test func noClientIsFailed() async throws {
        let ended = try await Scripts.start("clients", [Daemon.executable, "--quick"]).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }
}
