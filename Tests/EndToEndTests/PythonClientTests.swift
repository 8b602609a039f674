import Foundation
import PushTesting
import Testing

/// `Clients/python`, whose tests are in Python and call the real server.
@Suite(.timeLimit(.minutes(15))) struct PythonClientTests {
    /// The guide `docs/backends.md` is among these tests.
    @Test func theClientForBackendsPassesItsTests() async throws {
        let folder = try TemporaryFolder()
        let ended = try await ChildProcess(
            Repository.file(".venv-test/bin/python").path,
            ["-B", "-m", "unittest", "discover", "--start-directory", "tests"],
            in: Repository.file("Clients/python").path,
            environment: [
                "PATH": "/usr/local/bin:/usr/bin:/bin", "SEALPOST_PROGRAM": Daemon.executable, "TMPDIR": folder.path,
            ]
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(!ended.errors.contains("skipped"), "\(ended.errors)")
    }
}
