import Foundation
import PushAPI
import PushClient
import PushTesting
import Testing

/// The progress of long work: a bar on a terminal, and nothing elsewhere.
@Suite(.timeLimit(.minutes(5))) struct ProgressTests {
    private let folder: TemporaryFolder

    init() async throws {
        self.folder = try TemporaryFolder()
        _ = try await Daemon.run(["user", "add", "alice", "--no-password"], in: self.folder)
    }

    @Test func aBackupAndARestoreHaveABarOnATerminal() async throws {
        let steps = [("copying [", nil), ("verifying [", nil)] as [(String, String?)]
        let copied = try await Terminal.run(["backup", "copy.db"], in: self.folder, steps)
        #expect(copied.code == 0, "\(copied.output)\(copied.errors)")
        // The command removes the progress bar before it prints the result.
        #expect(copied.output.contains("\r\u{1B}[Kbackup written to copy.db\n"), "\(copied.output)")
        let put = try await Terminal.run(["restore", "copy.db", "--replace"], in: self.folder, steps)
        #expect(put.code == 0 && put.output.contains("\r\u{1B}[Kvar/sealpost.db restored"), "\(put.output)")
    }

    @Test func aBarIsRemovedBeforeAnErrorIsPrinted() async throws {
        let script = "import sqlite3; file = sqlite3.connect('other.db'); file.execute('create table other (id)')"
        _ = try await ChildProcess("/usr/bin/python3", ["-c", script], in: self.folder.path).end()
        let ended = try await Terminal.run(
            ["restore", "other.db", "--replace"],
            in: self.folder,
            [("verifying [", nil)]
        )
        #expect(ended.code == 1 && ended.output.contains("\r\u{1B}[Ksealpost: "), "\(ended.output)\(ended.errors)")
    }

    @Test func workDoneByTheServerShowsABarToo() async throws {
        _ = try await Daemon.run(
            ["user", "passwd", "alice", "--password-stdin"],
            in: self.folder,
            input: "correct horse\n"
        )
        let daemon = try await Daemon(in: self.folder)
        let client = PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: "correct horse"),
            options: .init(testing: [])
        )
        _ = try await client.register(platform: "stream", handle: "")
        let id = try await client.send("to a device that is away").id
        // The device has no open stream, so the command waits until a user interrupts it.
        let interrupt = [("sending [", "\u{3}")] as [(String, String?)]
        let waited = try await Terminal.run(["deliveries", "\(id)", "--wait"], in: self.folder, interrupt)
        #expect(waited.errors.isEmpty && waited.code != 0, "\(waited.output)\(waited.errors)")
        #expect(try await Daemon.run(["keys", "rotate"], in: self.folder).code == 0)
        let reload = try await Terminal.run(["keys", "reload"], in: self.folder, [("re-encrypting [", nil)])
        #expect(reload.code == 0 && reload.output.contains("\r\u{1B}[K"), "\(reload.output)\(reload.errors)")
        #expect(await daemon.terminate() == 0)
    }

    @Test func outputWithoutATerminalHasNoBar() async throws {
        let ended = try await Daemon.run(["backup", "copy.db"], in: self.folder)
        #expect(ended.code == 0 && ended.errors.isEmpty && ended.output == "backup written to copy.db\n")
    }
}
