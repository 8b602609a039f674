import Foundation
import PushTesting
import Testing

/// The library in `Clients/node`. Its tests are in JavaScript and start the daemon of this build.
@Suite(.timeLimit(.minutes(15))) struct NodeLibraryTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test func theLibraryForBackendsPassesItsTests() async throws {
        let folder = Repository.file("Clients/node")
        let tests = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "tests").path)
            .filter { $0.hasSuffix(".test.mjs") }
        #expect(tests.count > 1)
        let ended = try await ChildProcess(
            "/usr/bin/env",
            ["node", "--test"] + tests.map { "tests/\($0)" },
            in: folder.path,
            environment: [
                "PATH": "/usr/local/bin:/usr/bin:/bin", "SEALPOST_EXECUTABLE": Daemon.executable,
                "TMPDIR": self.folder.path,
            ]
        ).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }
}
