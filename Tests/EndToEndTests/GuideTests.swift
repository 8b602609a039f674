import Foundation
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost

/// Runs the commands of the guides, and loads their configurations.
@Suite(.timeLimit(.minutes(5))) struct GuideTests {
    static let pages = [
        "README.md", "docs/first-day.md", "docs/upgrade.md", "docs/api.md", "docs/operate/backup.md",
        "docs/operate/commands.md", "docs/operate/keys.md", "docs/operate/users.md",
    ]
    /// The commands that must run before the first command of a page.
    private static let preparations = [
        "docs/upgrade.md": "echo 'correct horse battery' | sealpost user add alice --password-stdin\n",
        "docs/operate/commands.md": Self.server(configuration: "database: var/sealpost.db"),
        "docs/operate/users.md": Self.server(configuration: "database: var/sealpost.db"),
        "docs/operate/keys.md": Self.server(configuration: "database: var/sealpost.db")
            + "systemctl() { kill -HUP %1; until grep --quiet 'signing keys reloaded' log; do sleep 0.1; done; }\n"
            + "runuser() { shift 3; \"$@\"; }\n",
        "docs/api.md": "sealpost user add alice --no-password\n"
            + Self.server(configuration: "alerts: {allowed: {badge: 99}, templates: {appointment: {titleKey: T}}}"),
    ]

    /// Returns commands that write a configuration, add an administrator and start a server.
    private static func server(configuration: String) -> String {
        """
        echo '\(configuration)' > sealpost.yaml
        echo 'correct horse battery' | sealpost user add boss --role admin --password-stdin
        sealpost serve --config sealpost.yaml 2> log &
        curl --silent --retry 9 --retry-connrefused --retry-delay 1 http://127.0.0.1:8080/readyz

        """
    }

    @Test(arguments: Self.pages)
    func theCommandsOfAGuideWorkAsPasted(page: String) async throws {
        let guide = try Guide(page: page)
        #expect(!guide.steps.isEmpty)
        let folder = try TemporaryFolder()
        let port = try QuickStartTests.freePort()
        let preparation = Self.preparations[page] ?? ""
        let ended = try await ChildProcess(
            "/bin/bash",
            ["-c", (preparation + guide.script).replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")],
            in: folder.path,
            environment: [
                "PATH": "\(URL(fileURLWithPath: Daemon.executable).deletingLastPathComponent().path):/usr/bin:/bin",
                "SEALPOST_SERVER_LISTEN": "127.0.0.1:\(port)",
            ]
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        let outputs = ended.output.split(separator: Guide.separator, omittingEmptySubsequences: false).dropFirst()
        #expect(outputs.count == guide.steps.count, "\(ended.errors)")
        for (step, output) in zip(guide.steps, outputs) {
            if let line = step.missing(in: output) { Issue.record("\(line) is not in \(output)") }
        }
    }

    @Test func aMissingOutputLineIsDetected() {
        let step = Guide.Step(script: "", lines: ["a…c", "d"])
        #expect(step.missing(in: "xabbc\nd") == nil)
        #expect(step.missing(in: "d\nabc") == "d")
        #expect(step.missing(in: "ab\nd") == "a…c")
    }

    @Test func eachConfigurationLoads() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("sealpost.yaml")
        var count = 0
        for page in try Self.allPages() {
            for match in try Repository.text(of: page).matches(of: /(<!-- .*? -->\n)?```yaml\n((?s).*?)```/) {
                if match.output.1?.hasPrefix("<!-- not of sealpost") == true { continue }
                try String(match.output.2).write(toFile: file, atomically: true, encoding: .utf8)
                do {
                    _ = try Configuration.load(file: file, environment: [:])
                } catch {
                    Issue.record("\(page): \(error) in\n\(match.output.2)")
                }
                count += 1
            }
        }
        #expect(count > 8)
    }

    /// Returns each page of the documentation that is tested as a guide: all pages but the
    /// decisions.
    static func allPages() throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: Repository.file("docs").path)
        let pages = names.filter { $0.hasSuffix(".md") && !$0.hasPrefix("decisions/") }
        return ["README.md"] + pages.sorted().map { "docs/\($0)" }
    }
}
