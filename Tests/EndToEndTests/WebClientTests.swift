import Foundation
import PushTesting
import Testing

/// The library in `Clients/web`, whose tests are in JavaScript. `scripts/e2e run web-client` runs
/// the library in a real browser.
@Suite(.timeLimit(.minutes(15))) struct WebClientTests {
    @Test func theClientForBrowsersPassesItsTests() async throws {
        let folder = Repository.file("Clients/web")
        let tests = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "tests").path)
            .filter { $0.hasSuffix(".test.mjs") }
        #expect(tests.count > 1)
        let ended = try await ChildProcess(
            "/usr/bin/env",
            ["node", "--test"] + tests.map { "tests/\($0)" },
            in: folder.path,
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        ).end()
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    }
}
