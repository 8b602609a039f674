import Foundation
import PushAPI
import PushClient
import PushTesting
import Testing

/// A backup that is made while the server runs, and put back as docs/operations.md says.
@Suite(.timeLimit(.minutes(5))) struct BackupTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    /// The commands of the documentation, for this folder.
    private func documented(_ heading: String) throws -> String {
        let text = try Repository.text(of: "docs/operations.md")
        let part = try #require(text.components(separatedBy: "## \(heading)\n").dropFirst().first)
        let block = try #require(
            part.components(separatedBy: "```bash\n").dropFirst().first?.components(separatedBy: "```").first
        )
        // The daemon is stopped and started here.
        return block.split(separator: "\n").filter { !$0.contains("systemctl") }.joined(separator: "\n")
    }

    private func shell(_ script: String) async throws -> ChildProcess.Ended {
        let function = "set -e\nsealpost() { \"$SEALPOST\" \"$@\"; }\n"
        return try await ChildProcess(
            "/bin/sh",
            ["-c", function + script.replacing(" --config sealpost.yaml", with: "")],
            in: self.folder.path,
            environment: ["SEALPOST": Daemon.executable, "PATH": "/usr/bin:/bin"]
        ).end()
    }

    @Test func whatWasBackedUpComesBackAndNothingElse() async throws {
        _ = try await Daemon.run(["user", "add", "alice", "--password-stdin"], in: folder, input: "correct horse\n")
        var daemon = try await Daemon(in: self.folder)
        var client = PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: "correct horse")
        )
        let before = try await client.send("before")
        let made = try await self.shell(self.documented("Backups"))
        #expect(made.code == 0, "\(made.errors)")
        let after = try await client.send("after")
        // With a log that knows of the second, and of pages that the copy has elsewhere.
        daemon.process.signal(SIGKILL)
        _ = await daemon.process.end()
        #expect(FileManager.default.contents(atPath: folder.file("var/sealpost.db-wal"))?.isEmpty == false)
        let restored = try await self.shell(self.documented("Restoring"))
        #expect(restored.code == 0, "\(restored.errors)")
        let looked = try await Daemon.run(["doctor"], in: self.folder)
        #expect(looked.output.contains("sealpost.db is intact and up to date"), "\(looked.output)")
        daemon = try await Daemon(in: self.folder)
        client = PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: "correct horse")
        )
        #expect(try await client.notification(before.id).value.payload == .string("before"))
        let error = await #expect(throws: PushClientError.self) { try await client.notification(after.id) }
        guard case .problem(let problem) = error, problem.code == .notFound else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(await daemon.terminate() == 0)
    }

    @Test func aBackupIsItsOwnersOnlyAndReplacesNothing() async throws {
        _ = try await Daemon.run(["user", "add", "alice", "--password-stdin"], in: folder, input: "correct horse\n")
        #expect(try await Daemon.run(["backup", "copy.db"], in: self.folder).output == "backup written to copy.db\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: self.folder.file("copy.db"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let again = try await Daemon.run(["backup", "copy.db"], in: self.folder)
        #expect(again.code == 1)
        #expect(again.errors == "sealpost: cannot open copy.db: the file already exists\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path).sorted() == ["copy.db", "var"])
    }

    @Test func withoutADatabaseThereIsNoBackup() async throws {
        let ended = try await Daemon.run(["backup", "copy.db"], in: self.folder)
        #expect(ended.code == 1)
        #expect(ended.errors.hasPrefix("sealpost: cannot open var/sealpost.db"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path).isEmpty)
    }
}
