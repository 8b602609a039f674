import Foundation
import Glibc
import PushTesting
import Testing

/// Other users of the machine cannot read a daemon's memory.
@Suite(.timeLimit(.minutes(5))) struct MemoryProtectionTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test func coreDumpsAreDisabled() async throws {
        let (daemon, id) = try await self.start(Daemon.executable, "serve")
        let line = await daemon.errors(until: "serving")
        #expect(!line.contains("memory is not kept"))
        let limits = try String(contentsOfFile: "/proc/\(id)/limits", encoding: .utf8)
        #expect(limits.contains(#/Max core file size +0 +0 +bytes/#))
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func anUnprivilegedProcessCannotReadTheDaemonsMemory() async throws {
        let (daemon, id) = try await self.start(Daemon.executable, "serve")
        _ = await daemon.errors(until: "serving")
        #expect(try await !self.canOpen("/proc/\(id)/mem"))
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func anUnprivilegedProcessCanReadAnOrdinaryProcess() async throws {
        let (other, id) = try await self.start("/usr/bin/sleep", "600")
        #expect(try await self.canOpen("/proc/\(id)/mem"))
        other.signal(SIGTERM)
        _ = await other.end()
    }

    // MARK: - Private

    /// Root may inspect any process, so a command that tests the protection must drop this right
    /// first.
    private static let unprivileged = geteuid() == 0 ? "setpriv --bounding-set=-sys_ptrace" : ""

    private static let start = #"ulimit -S -c $(ulimit -H -c); echo $$; exec "$0" "$@""#

    /// Starts a command that may write a core dump. Returns its process id.
    private func start(_ command: String...) async throws -> (ChildProcess, id: Int32) {
        let process = try ChildProcess(
            "/bin/sh",
            // The inner shell prints its process id, which stays the same when the shell becomes
            // the command.
            ["-c", "exec \(Self.unprivileged) /bin/sh -c '\(Self.start)' \"$0\" \"$@\""] + command,
            in: self.folder.path,
            environment: ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "PATH": "/usr/bin:/bin"]
        )
        let line = await process.output(until: "\n")
        return (process, try #require(Int32(line.trimmingCharacters(in: .newlines))))
    }

    /// Returns whether a process with the rights of the started commands may open the path.
    private func canOpen(_ path: String) async throws -> Bool {
        try await ChildProcess(
            "/bin/sh",
            ["-c", "exec \(Self.unprivileged) dd count=0 status=none if=\(path)"],
            in: self.folder.path,
            environment: ["PATH": "/usr/bin:/bin"]
        ).end().code == 0
    }
}
