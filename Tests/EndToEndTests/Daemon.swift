import Foundation
import PushTesting
import Testing

/// The server's real executable, running in its own process.
struct Daemon: Sendable {
    /// The build puts the executable next to the test bundle.
    static let executable = Self.built("sealpost")
    /// The executable with the demonstration and the simulators.
    static let demo = Self.built("sealpost-demo")

    private static func built(_ name: String) -> String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: name).path
    }

    let process: ChildProcess
    let port: Int
    /// What the daemon has logged until it served.
    let start: String

    /// Starts `serve` and waits until it prints its address. `settings` are environment variables;
    /// their names here omit `SEALPOST_`.
    init(
        in folder: TemporaryFolder,
        arguments: [String] = [],
        settings: [String: String] = ["SERVER_LISTEN": "127.0.0.1:0"]
    ) async throws {
        self.process = try ChildProcess(
            Self.executable,
            ["serve"] + arguments,
            in: folder.path,
            environment: Dictionary(uniqueKeysWithValues: settings.map { ("SEALPOST_\($0)", $1) })
        )
        self.start = await self.process.errors(until: "serving")
        let port = self.start.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) }
        self.port = try #require(port, "\(self.start)")
    }

    /// Starts `serve` on a socket that the test holds, as systemd does, and waits until it
    /// serves.
    init(in folder: TemporaryFolder, on socket: HeldSocket) async throws {
        self.process = try ChildProcess(
            "/bin/sh",
            // The shell becomes the daemon and keeps its process id.
            ["-c", #"LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve"#, Self.executable],
            in: folder.path,
            descriptors: [socket.descriptor]
        )
        self.port = socket.port
        self.start = await self.process.errors(until: "serving")
        try #require(self.start.contains("addresses=127.0.0.1:\(socket.port)\n"), "\(self.start)")
    }

    var server: URL {
        get throws { try #require(URL(string: "http://127.0.0.1:\(self.port)")) }
    }

    /// While `body` runs, makes the daemon's system calls on `files` fail or wait. `fault` has the
    /// form of strace's `--inject=`.
    func withFault(_ fault: String, on files: [String], _ body: () async throws -> Void) async throws {
        let arguments = ["--follow-forks", "--attach=\(self.process.id)", "--output=/dev/null", "--inject=\(fault)"]
        let strace = try ChildProcess("/usr/bin/strace", arguments + files.map { "--trace-path=\($0)" }, in: "/")
        _ = await strace.errors(until: "attached")
        try await body()
        strace.signal(SIGINT)
        _ = await strace.end()
    }

    /// Kills the process, so that it ends without any cleanup.
    func kill() async {
        self.process.signal(SIGKILL)
        _ = await self.process.end()
    }

    /// Asks the daemon to end, and waits for its end. Returns the exit code.
    func terminate() async -> Int32 {
        await self.terminated().code
    }

    /// Asks the daemon to end, and waits for its end. Returns the exit code, and what the daemon
    /// has logged since it began to serve.
    func terminated() async -> ChildProcess.Ended {
        self.process.signal(SIGTERM)
        return await self.process.end()
    }

    /// Creates the keys and a database without users in `var`. Most commands need them and do not
    /// create them.
    static func makeDatabase(in folder: TemporaryFolder) async throws {
        try await self.copy(self.emptyDatabase.value, to: folder)
    }

    /// Creates the keys and a database with the user `alice` in `var`. The user's password is
    /// `correct horse`.
    static func makeAlice(in folder: TemporaryFolder) async throws {
        try await self.copy(self.databaseOfAlice.value, to: folder)
    }

    /// A copy takes less time than the command that has made the files.
    private static func copy(_ made: TemporaryFolder, to folder: TemporaryFolder) throws {
        // Commands find the database at its default path, so they need no configuration.
        try FileManager.default.copyItem(atPath: made.file("var"), toPath: folder.file("var"))
    }

    private static let emptyDatabase = Task.detached {
        try await Self.folder(made: ["init", "--yes", "--config", "made/init.yaml"])
    }
    private static let databaseOfAlice = Task.detached {
        try await Self.folder(made: ["user", "add", "alice", "--password-stdin"], input: "correct horse\n")
    }

    private static func folder(made arguments: [String], input: String = "") async throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let ended = try await Self.run(arguments, in: folder, input: input)
        try #require(ended.code == 0, "\(ended.errors)")
        return folder
    }

    /// Runs a command and waits for its exit.
    static func run(
        _ arguments: [String],
        in folder: TemporaryFolder,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> ChildProcess.Ended {
        try await ChildProcess(
            self.executable,
            arguments,
            in: folder.path,
            environment: environment,
            input: input
        ).end()
    }
}
