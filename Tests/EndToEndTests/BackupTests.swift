import Foundation
import PushAPI
import PushClient
import PushServer
import PushTesting
import Testing

@testable import PushApplication

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A backup of a running server, restored as docs/operate/backup.md describes.
@Suite(.timeLimit(.minutes(5))) struct BackupTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    /// Returns the commands under a heading of the documentation, with the paths of the test's
    /// folder.
    private func documented(_ heading: String) throws -> String {
        let text = try Repository.text(of: "docs/operate/backup.md")
        let part = try #require(text.components(separatedBy: "## \(heading)\n").dropFirst().first)
        let block = try #require(
            part.components(separatedBy: "```bash\n").dropFirst().first?.components(separatedBy: "```").first
        )
        // The test itself stops and starts the daemon, as its own user.
        return block.split(separator: "\n").filter { !$0.contains("systemctl") }.joined(separator: "\n")
            .replacing("runuser -u sealpost -- ", with: "").replacing("/var/lib/sealpost/", with: "")
    }

    private func shell(_ script: String) async throws -> ChildProcess.Ended {
        let function = "set -e\nsealpost() { \"$SEALPOST\" \"$@\"; }\n"
        return try await ChildProcess(
            "/bin/sh",
            ["-c", function + script],
            in: self.folder.path,
            environment: ["SEALPOST": Daemon.executable, "PATH": "/usr/bin:/bin"]
        ).end()
    }

    @Test func aRestoreReturnsTheStateOfTheBackup() async throws {
        try await Daemon.makeAlice(in: folder)
        var daemon = try await Daemon(in: self.folder)
        var client = try self.client(of: daemon)
        let before = try await client.send("before")
        let made = try await self.shell(self.documented("Make one"))
        #expect(made.code == 0, "\(made.errors)")
        let after = try await client.send("after")
        // The database's write-ahead log contains the second notification. The log's pages do not
        // belong to the restored copy, so the restoration must remove the log.
        daemon.process.signal(SIGKILL)
        _ = await daemon.process.end()
        #expect(FileManager.default.contents(atPath: folder.file("var/sealpost.db-wal"))?.isEmpty == false)
        let restored = try await self.shell(self.documented("Restoring"))
        #expect(restored.code == 0, "\(restored.errors)")
        let looked = try await Daemon.run(["doctor"], in: self.folder)
        #expect(looked.output.contains("sealpost.db is intact and up to date"), "\(looked.output)")
        daemon = try await Daemon(in: self.folder)
        client = try self.client(of: daemon)
        #expect(try await client.notification(before.id).value.payload == .string("before"))
        let error = await #expect(throws: PushClientError.self) { try await client.notification(after.id) }
        guard case .problem(let problem) = error, problem.code == .notFound else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(await daemon.terminate() == 0)
    }

    /// systemd does not start the server again after 78. A start would read the foreign log, which
    /// destroys what the server has saved.
    @Test(arguments: ["-wal", "-shm"]) func aReplacedFileEndsTheServerUntilAnOperatorActs(end: String) async throws {
        try await Daemon.makeDatabase(in: self.folder)
        let daemon = try await Daemon(in: self.folder)
        let path = self.folder.file("var/sealpost.db\(end)")
        try FileManager.default.removeItem(atPath: path)
        try Data("another file".utf8).write(to: URL(filePath: path))
        // The server ends in place of an answer.
        _ = try? await URLSession.shared.data(from: daemon.server.appending(path: "readyz"))
        let ended = await daemon.process.end()
        #expect(ended.code == 78)
        #expect(ended.errors.contains("remove the foreign file, or restore"), "\(ended.errors)")
    }

    private func client(of daemon: Daemon) throws -> PushClient {
        PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: "correct horse"),
            options: .init(testing: [])
        )
    }

    /// Returns whether the server has the notification with this id and this payload.
    private func has(_ id: Int64, _ text: String, _ client: PushClient) async throws -> Bool {
        do {
            return try await client.notification(id).value.payload == .string(text)
        } catch let error as PushClientError {
            guard case .problem(let problem) = error, problem.code == .notFound else { throw error }
            return false
        }
    }

    /// Several clients post during the backup. The copy must contain each client's posts up to
    /// some point, without a gap.
    @Test func aBackupUnderLoadIsAConsistentSnapshot() async throws {
        try await Daemon.makeAlice(in: folder)
        var daemon = try await Daemon(in: self.folder)
        let client = try self.client(of: daemon)
        let before = try await client.send("before")
        let posted: [[(id: Int64, text: String)]] = try await withThrowingTaskGroup(
            of: [(id: Int64, text: String)].self
        ) { group in
            for number in 0..<4 {
                group.addTask {
                    var posts: [(id: Int64, text: String)] = []
                    for turn in 0..<50 {
                        let text = "\(number): \(turn)"
                        posts.append((id: try await client.send(text).id, text: text))
                    }
                    return posts
                }
            }
            let made = try await Daemon.run(["backup", "copy.db"], in: self.folder)
            #expect(made.code == 0, "\(made.errors)")
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let after = try await client.send("after")
        #expect(await daemon.terminate() == 0)
        let restored = try await Daemon.run(["restore", "--replace", "copy.db"], in: self.folder)
        #expect(restored.code == 0, "\(restored.errors)")
        daemon = try await Daemon(in: self.folder)
        let reader = try self.client(of: daemon)
        #expect(try await self.has(before.id, "before", reader))
        for posts in posted {
            var isThere: [Bool] = []
            for post in posts { isThere.append(try await self.has(post.id, post.text, reader)) }
            #expect(isThere == isThere.filter { $0 } + isThere.filter { !$0 })
        }
        #expect(try await !self.has(after.id, "after", reader))
        #expect(await daemon.terminate() == 0)
    }

    @Test func aBackupIsPrivateToItsOwnerAndReplacesNothing() async throws {
        try await Daemon.makeAlice(in: folder)
        #expect(try await Daemon.run(["backup", "copy.db"], in: self.folder).output == "backup written to copy.db\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: self.folder.file("copy.db"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let again = try await Daemon.run(["backup", "copy.db"], in: self.folder)
        #expect(again.code == 1)
        #expect(again.errors.hasPrefix("sealpost: cannot open copy.db: the file already exists\n"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path).sorted() == ["copy.db", "var"])
    }

    @Test func theDocumentedStepsReplaceTheDatabaseByItsBackup() async throws {
        try await Daemon.makeAlice(in: self.folder)
        let ended = try await self.shell(self.documented("Room of the database"))
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.output.contains("backup written to sealpost-before.db\n"), "\(ended.output)")
        #expect(try await Daemon.run(["user", "list"], in: self.folder).output.hasPrefix("alice  "))
    }

    @Test func theCommandOfATimerWritesAFileOfItsOwn() async throws {
        try await Daemon.makeAlice(in: self.folder)
        let daemon = try await Daemon(in: self.folder)
        let backups = self.folder.file("backup")
        try FileManager.default.createDirectory(atPath: backups, withIntermediateDirectories: false)
        let command = try self.documented("In a timer")
            .replacing(" /backup/", with: " \(backups)/")
        let ended = try await self.shell(command)
        #expect(ended.code == 0, "\(ended.errors)")
        let names = try FileManager.default.contentsOfDirectory(atPath: backups)
        #expect(names.count == 1 && names[0].wholeMatch(of: /sealpost-\d{4}-\d\d-\d\d-\d\d\.db/) != nil, "\(names)")
        #expect(await daemon.terminate() == 0)
    }

    @Test func aBackupWithoutADatabaseFails() async throws {
        let ended = try await Daemon.run(["backup", "copy.db"], in: self.folder)
        #expect(ended.code == 1)
        #expect(ended.errors.hasPrefix("sealpost: there is no database: var/sealpost.db does not exist"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path).isEmpty)
    }

    @Test func theServerWritesTheBackupAndAuditsWhoRequestedIt() async throws {
        try await Daemon.makeAlice(in: self.folder)
        let daemon = try await Daemon(in: self.folder)
        #expect(try await Daemon.run(["backup", "copy.db"], in: self.folder).output == "backup written to copy.db\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: self.folder.file("copy.db"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(await daemon.process.errors(until: "backup written").contains("copy.db"))
        let path = self.folder.file("copy.db")
        let audit = try await Daemon.run(["audit", "list"], in: self.folder).output
        let name = LocalUser.name(of: geteuid())
        #expect(audit.contains("\tdatabase.backup\t\(path)\t\tlocal \(name)\t"), "\(audit)")
        // With `--direct`, the command makes the copy without the server, and the audit gets no
        // record of the backup.
        #expect(try await Daemon.run(["backup", "own.db", "--direct"], in: self.folder).code == 0)
        #expect(try await Daemon.run(["audit", "list"], in: self.folder).output == audit)
        #expect(await daemon.terminate() == 0)
    }

    @Test(arguments: [
        ("var/sealpost.db", "cannot open ", "/var/sealpost.db: the file already exists\n"),
        ("none/copy.db", "the server, as the user ", "/none: No such file or directory; choose another folder"),
    ])
    func aRefusedBackupReportsTheServersReason(file: String, start: String, reason: String) async throws {
        try await Daemon.makeAlice(in: self.folder)
        let daemon = try await Daemon(in: self.folder)
        let ended = try await Daemon.run(["backup", file], in: self.folder)
        #expect(ended.code == 1 && ended.output.isEmpty)
        #expect(ended.errors.hasPrefix("sealpost: \(start)") && ended.errors.contains(reason), "\(ended.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["var"])
        #expect(await daemon.terminate() == 0)
    }

    @Test func aBackupByTheServerShowsProgressAndEndsWithItsCommand() async throws {
        try await Daemon.makeAlice(in: self.folder)
        let daemon = try await Daemon(in: self.folder)
        let (copy, other) = (self.folder.file("copy.db"), self.folder.file("other.db"))
        // The progress appears after a quarter of a second. A fast disk would have finished the
        // copy by then, so an injected fault delays the copy.
        try await daemon.withFault("fsync:delay_enter=1500000", on: ["\(copy).partial", "\(other).partial"]) {
            let copied = try await Terminal.run(["backup", "copy.db"], in: self.folder, [("copying [", nil)])
            #expect(
                copied.code == 0 && copied.output.contains("\r\u{1B}[Kbackup written to copy.db\n"),
                "\(copied.output)"
            )
            struct Leaving: Error {}
            let place = AdminSocket(path: self.folder.file("var/admin/sealpost.sock"))
            let socket = try #require(try place.connect())
            do {
                var exchange = LocalExchange(socket, timeout: .seconds(60))
                let path = "\(LocalPaths.backup)?file=\(Administration.encoded(other))"
                _ = try exchange.ask("POST", path, []) { line in
                    #expect(String(decoding: line, as: UTF8.self).hasPrefix(#"{"Step":"copying","Done":"#))
                    throw Leaving()
                }
            } catch is Leaving {}
            // The server can make another copy as soon as the abandoned copy has ended.
            try await eventually {
                try await Daemon.run(["backup", "next.db"], in: self.folder).code == 0
            }
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
        #expect(files.sorted() == ["copy.db", "next.db", "var"])
        #expect(await daemon.terminate() == 0)
    }
}
