import Foundation
import PushTesting
import Reactor
import Synchronization
import Testing

/// Runs long parts of the documentation as a reader would paste them.
@Suite(.timeLimit(.minutes(5))) struct QuickStartTests {
    @Test func theLinesOfTheFirstDayWorkAsPasted() async throws {
        let folder = try TemporaryFolder()
        let port = try Self.freePort()
        let script = try self.quickStart().replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
        let folderOfExecutable = URL(fileURLWithPath: Daemon.executable).deletingLastPathComponent().path
        let ended = try await ChildProcess(
            "/bin/bash",
            ["-c", "set -e\n\(script)\nkill %1\nwait %1\n"],
            in: folder.path,
            environment: [
                "PATH": "\(folderOfExecutable):/usr/bin:/bin", "SEALPOST_SERVER_LISTEN": "127.0.0.1:\(port)",
            ]
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.output.contains("user alice created with the role device"))
        #expect(ended.output.contains(#"{"Status":"ready"}"#))
        #expect(ended.output.contains(/id: (\d+)\ndata: {"secureId":"\1"}\n/))
        #expect(ended.output.contains(#""Payload":"Secure confirmation.""#))
        #expect(ended.output.contains(#""Payload":"Your test result is in.""#))
        #expect(ended.output.contains("HTTP/1.1 201 Created"))
        #expect(ended.output.contains(#""Payload":{"kind":"result","extension":4711},"Read":false"#))
        #expect(ended.output.contains("MyToken: 17003"))
        #expect(ended.output.contains(/\{"Outcomes":\[\{"Status":201,[^}]*\},\{"Status":201,[^}]*"ReadOnce":true/))
        #expect(ended.output.contains(/"SendAt":"20[^}]*"Recipients":null/))
        // The commands print the notification twice: fetched with the password, and fetched with a
        // token.
        #expect(ended.output.split(separator: #""Payload":{"kind":"result","extension":4711},"Read""#).count == 3)
        #expect(ended.output.split(separator: "HTTP/1.1 304 Not Modified").count == 3, "an item, and a list")
        #expect(ended.output.contains("HTTP/1.1 204 No Content"))
        #expect(ended.output.contains("urn:sealpost:problem:invalid-token"))
    }

    @Test func theLinesThatSetUpAServerWorkAsPasted() async throws {
        let folder = try TemporaryFolder()
        let port = try Self.freePort()
        let text = try Repository.text(of: "README.md")
        let block = try #require(text.firstMatch(of: /<!-- init -->\n```bash\n((?s).*?)```/)).output.1
        let script = block.replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
            .replacing(/sealpost serve.*/) { "\($0.output) &" }
        let folderOfExecutable = URL(fileURLWithPath: Daemon.executable).deletingLastPathComponent().path
        let ask = "curl --silent --retry 9 --retry-connrefused --retry-delay 1 --user 'boss:correct horse battery'"
        let ended = try await ChildProcess(
            "/bin/bash",
            ["-c", "set -e\n\(script)\n\(ask) http://127.0.0.1:\(port)/api/users\nkill %1\nwait %1\n"],
            in: folder.path,
            environment: ["PATH": "\(folderOfExecutable):/usr/bin:/bin"]
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.output.contains(#""Name":"boss","Role":"admin""#), "\(ended.output)")
    }

    @Test func theLinesAboutCodesWorkAsPasted() async throws {
        let folder = try TemporaryFolder()
        let port = try Self.freePort()
        let text = try Repository.text(of: "docs/operate/users.md")
        let block = try #require(text.firstMatch(of: /<!-- enrolment -->\n```bash\n((?s).*?)```/)).output.1
        let script = block.replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)").replacing(
            "curl",
            with: "curl --silent"
        )
        let folderOfExecutable = URL(fileURLWithPath: Daemon.executable).deletingLastPathComponent().path
        let ended = try await ChildProcess(
            "/bin/bash",
            [
                "-c",
                """
                set -e
                echo 'correct horse battery' | sealpost user add boss --role admin --password-stdin
                sealpost user add erna --no-password
                sealpost user list
                sealpost serve &
                curl --silent --retry 9 --retry-connrefused --retry-delay 1 http://127.0.0.1:\(port)/readyz
                \(script)
                kill %1
                wait %1
                """,
            ],
            in: folder.path,
            environment: [
                "PATH": "\(folderOfExecutable):/usr/bin:/bin", "SEALPOST_SERVER_LISTEN": "127.0.0.1:\(port)",
            ]
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.output.contains(/erna  device  since [-0-9]+  no password\n/))
        #expect(ended.output.contains(/"Code":"[0-9A-Z]{5}(-[0-9A-Z]{5}){4}"/))
        #expect(ended.output.contains(/"Name":"dora","Account":"[-\w]{22}","Token":"spt_/), "\(ended.output)")
    }

    private func quickStart() throws -> String {
        let text = try Repository.text(of: "docs/first-day.md")
        let block = try #require(text.firstMatch(of: /<!-- quick start -->\n```bash\n((?s).*?)```/))
        return String(block.output.1)
    }

    /// Returns a port that was free a moment ago, for programs that need it in advance.
    ///
    /// It avoids the ports from 32768 on, which the system gives to outgoing connections.
    /// Otherwise a `curl` of another test could get the port of a proxy while the proxy is being
    /// replaced.
    static func freePort() throws -> UInt16 {
        for _ in 0..<1000 {
            let port = self.lastPort.withLock { port in
                port = port < 31_999 ? port + 1 : 20_000
                return port
            }
            if (try? Listener(.tcp(host: "127.0.0.1", port: port))) != nil { return port }
        }
        throw NoPort()
    }

    private struct NoPort: Error {}

    /// Each port is returned only once, and each test process begins at a random port.
    private static let lastPort = Mutex(UInt16.random(in: 20_000..<32_000))
}
