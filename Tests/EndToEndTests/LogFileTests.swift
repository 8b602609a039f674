import Foundation
import PushTesting
import Testing

/// The file that `log.file` names, and its rotation by logrotate.
@Suite(.timeLimit(.minutes(5))) struct LogFileTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: self.folder.file("log"), withIntermediateDirectories: true)
    }

    private func text(of file: String) throws -> String {
        try String(contentsOfFile: self.folder.file("log/\(file)"), encoding: .utf8)
    }

    private func start() throws -> ChildProcess {
        let settings = ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "SEALPOST_LOG_FILE": "log/sealpost.log"]
        return try ChildProcess(Daemon.executable, ["serve"], in: self.folder.path, environment: settings)
    }

    private func rename(_ old: String, to new: String) throws {
        try FileManager.default.moveItem(atPath: self.folder.file(old), toPath: self.folder.file(new))
    }

    @Test func aSignalReopensARenamedFileWithoutLosingLines() async throws {
        try "from before\n".write(toFile: self.folder.file("log/sealpost.log"), atomically: true, encoding: .utf8)
        let daemon = try self.start()
        try await eventually { try self.text(of: "sealpost.log").contains("serving") }
        try self.rename("log/sealpost.log", to: "log/sealpost.log.1")
        daemon.signal(SIGHUP)
        try await eventually {
            // The new file does not exist until the daemon opens it.
            (try? self.text(of: "sealpost.log"))?.contains("log file reopened file=log/sealpost.log\n") == true
        }
        daemon.signal(SIGTERM)
        let ended = await daemon.end()
        #expect(ended.code == 0 && ended.errors.isEmpty, "\(ended.errors)")
        let (old, new) = (try self.text(of: "sealpost.log.1"), try self.text(of: "sealpost.log"))
        #expect(old.hasPrefix("from before\n") && old.contains("serving") && !old.contains("stopped"), "\(old)")
        #expect(new.hasSuffix("stopped\n") && !new.contains("serving"), "\(new)")
        let attributes = try FileManager.default.attributesOfItem(atPath: self.folder.file("log/sealpost.log"))
        #expect((attributes[.posixPermissions] as? Int ?? 0) & 0o137 == 0)
    }

    /// The documented logrotate configuration sends the signal by systemctl. No systemd runs here,
    /// so the test sends the signal.
    @Test func logrotateRotatesTheFileAsDocumented() async throws {
        let page = try Repository.text(of: "docs/operate/log-and-audit.md")
        let block = try #require(page.firstMatch(of: /```logrotate\n((?s).*?)```/)).output.1
        let signal = "systemctl kill --signal=HUP --kill-whom=main sealpost.service"
        try #require(block.contains(signal) && block.contains("/var/log/sealpost/"))
        let daemon = try self.start()
        try await eventually { (try? self.text(of: "sealpost.log"))?.contains("serving") == true }
        let rules = block.replacing(signal, with: "kill -HUP \(daemon.id)")
            .replacing("/var/log/sealpost/", with: self.folder.file("log/"))
        try self.folder.writeSecret(String(rules), to: "rules")
        let turned = try await ChildProcess(
            "/usr/sbin/logrotate",
            ["--force", "--state", self.folder.file("state"), self.folder.file("rules")],
            in: self.folder.path
        ).end()
        #expect(turned.code == 0 && turned.errors.isEmpty, "\(turned.output)\(turned.errors)")
        try await eventually { (try? self.text(of: "sealpost.log"))?.contains("log file reopened") == true }
        #expect(try self.text(of: "sealpost.log.1").contains("serving"))
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func aFailedReopenKeepsTheOldFileInUse() async throws {
        let daemon = try self.start()
        try await eventually { (try? self.text(of: "sealpost.log"))?.contains("serving") == true }
        try self.rename("log", to: "gone")
        daemon.signal(SIGHUP)
        let file = self.folder.file("gone/sealpost.log")
        try await eventually {
            try String(contentsOfFile: file, encoding: .utf8).contains(
                "log file reopen failed; the old file stays in use "
                    + #"error="log.file: log/sealpost.log cannot be opened: No such file or directory""#
            )
        }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
        #expect(try String(contentsOfFile: file, encoding: .utf8).hasSuffix("stopped\n"))
    }

    @Test func aFileThatCannotBeOpenedStopsTheStart() async throws {
        let settings = ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "SEALPOST_LOG_FILE": "log"]
        let ended = try await Daemon.run(["serve"], in: self.folder, environment: settings)
        #expect(ended.code == 78)
        #expect(ended.errors.hasPrefix("sealpost: SEALPOST_LOG_FILE: log cannot be opened: Is a directory\n"))
    }
}
