import Foundation
import PushAPI
import PushClient
import PushTesting
import Testing

/// The command `sealpost move`, with the real executable and a real PostgreSQL.
@Suite(.timeLimit(.minutes(5))) struct MoveTests {
    private let folder: TemporaryFolder
    /// The address of an empty database.
    private let address: String

    init() async throws {
        self.folder = try TemporaryFolder()
        let database = try PostgreSQLCluster.shared.newDatabase()
        self.address = "\(database)"
        _ = try await Daemon.run(
            ["user", "add", "alice", "--password-stdin"],
            in: self.folder,
            input: "correct horse\n"
        )
    }

    private func client(of daemon: Daemon) throws -> PushClient {
        PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: "correct horse"),
            options: .init(testing: [])
        )
    }

    private func move() async throws -> ChildProcess.Ended {
        try await Daemon.run(["move", "--to", self.address], in: self.folder)
    }

    @Test func theServerContinuesWithPostgreSQLAfterTheMove() async throws {
        var daemon = try await Daemon(in: self.folder)
        let posted = try await self.client(of: daemon).send("before")
        let refused = try await self.move()
        #expect(refused.code == 1)
        #expect(refused.errors.contains("is in use by another process"), "\(refused.errors)")
        _ = await daemon.terminate()
        // If a move is killed at any point, an operator can start the move again. The test kills
        // it after each of these lines of output.
        for line in ["account: 1", "notification: 1", "all rows are there"] {
            let process = try ChildProcess(Daemon.executable, ["move", "--to", self.address], in: self.folder.path)
            _ = await process.errors(until: line)
            process.signal(SIGKILL)
            _ = await process.end()
        }
        let moved = try await self.move()
        if moved.code == 0 {
            #expect(moved.output.contains("moved to \(self.address)"), "\(moved.output)")
            #expect(moved.errors.contains("notification: 1 row moved"), "\(moved.errors)")
        } else {
            // The last signal may have come after the end of the move.
            #expect(moved.errors.contains("was moved to \(self.address)"), "\(moved.errors)")
        }
        let served = try await Daemon.run(["serve"], in: self.folder)
        #expect(served.code == 78)
        #expect(served.errors.contains("was moved to \(self.address)"), "\(served.errors)")
        let looked = try await Daemon.run(["doctor"], in: self.folder)
        #expect(looked.output.contains("was moved to \(self.address)"), "\(looked.output)")
        let listed = try await Daemon.run(["audit", "verify"], in: self.folder)
        #expect(listed.code == 0, "\(listed.errors)")
        daemon = try await Daemon(
            in: self.folder,
            settings: ["SERVER_LISTEN": "127.0.0.1:0", "DATABASE": self.address]
        )
        let client = try self.client(of: daemon)
        #expect(try await client.notification(posted.id).value.payload == .string("before"))
        _ = try await client.send("after")
        #expect(await daemon.terminate() == 0)
        let verified = try await Daemon.run(
            ["audit", "verify"],
            in: self.folder,
            environment: ["SEALPOST_DATABASE": self.address]
        )
        #expect(verified.code == 0, "\(verified.errors)")
    }

    @Test func theDocumentedCommandsMoveADatabase() async throws {
        let text = try Repository.text(of: "docs/operate/postgresql.md")
        let block = try #require(text.firstMatch(of: /<!-- run by MoveTests -->\n```bash\n((?s).*?)```/)).output.1
        // The commands of systemctl are left out, because no systemd service runs here.
        let lines = block.split(separator: "\n").filter { !$0.contains("systemctl") }
        let commands = lines.joined(separator: "\n").replacing(/'postgres:[^']*'/, with: "'\(self.address)'")
            .replacing("runuser -u sealpost -- ", with: "").replacing("/var/lib/sealpost/", with: "")
        try #require(lines.count == 2 && commands.contains(self.address))
        let ended = try await ChildProcess(
            "/bin/sh",
            ["-c", "set -e\nsealpost() { \"$SEALPOST\" \"$@\"; }\n\(commands) --json"],
            in: self.folder.path,
            environment: ["SEALPOST": Daemon.executable, "PATH": "/usr/bin:/bin"]
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        // Scripts get the output that the documentation of `--json` describes.
        let line = try #require(ended.output.split(separator: "\n").last)
        let result = try JSONValue(reading: Array(line.utf8))
        guard case .object(let members) = result else {
            Issue.record("\(line)")
            return
        }
        #expect(members.map(\.name) == ["From", "To", "Rows"])
        #expect(result["To"]?.text == self.address && result["Rows"]?.integer ?? 0 > 0, "\(line)")
    }

    @Test func onATerminalEachTableHasABar() async throws {
        let shown = try await Terminal.run(
            ["move", "--to", self.address],
            in: self.folder,
            [
                ("account [", nil), ("account: 1 row moved", nil), ("comparing account [", nil),
                ("all rows are there", nil),
            ]
        )
        #expect(shown.code == 0 && shown.errors.isEmpty, "\(shown.output)\(shown.errors)")
        #expect(shown.output.contains("\r\u{1B}[Kaccount: 1 row moved\n"), "\(shown.output)")
    }

    @Test func anInvalidAddressIsRefused() async throws {
        for (address, code, reason) in [
            ("var/other.db", 1, "--to must be the address of a database"), ("postgres://u@x:y/z", 78, "--to: "),
            ("u:hunter2@x/z", 78, "--to: it does"),
        ] {
            let ended = try await Daemon.run(["move", "--to", address], in: self.folder)
            #expect(ended.code == Int32(code) && ended.errors.contains(reason), "\(ended.errors)")
            #expect(!ended.errors.contains("hunter2"))
        }
        let ended = try await Daemon.run(
            ["move", "--to", self.address],
            in: self.folder,
            environment: ["SEALPOST_DATABASE": self.address]
        )
        #expect(ended.code == 1 && ended.errors.contains("is not a file"), "\(ended.errors)")
    }
}
