import ArgumentParser
import Foundation
import Logging
import PushAPI
import PushCore
import PushStore

/// The command line.
@main
struct Sealpost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sealpost",
        abstract: "A push server that keeps payloads at home and sends only an id through the push services.",
        version: Version.text,
        subcommands: [
            InitCommand.self, Serve.self, Demo.self, Simulate.self, UserCommand.self, TokenCommand.self,
            AuditCommand.self, DeliveriesCommand.self,
            KeysCommand.self, SigningKeysCommand.self, ClockCommand.self, BackupCommand.self, RestoreCommand.self,
            MoveCommand.self,
            Migrate.self, DoctorCommand.self, HealthCommand.self,
        ]
    )

    /// What the library's own does, with a suggestion for a command that does not exist.
    static func main() async {
        do {
            var command = try await self.asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            self.end(with: error)
        }
    }

    private static func end(with error: any Error) -> Never {
        if self.exitCode(for: error) == .validationFailure,
            let unknown = UnknownCommand(in: Array(CommandLine.arguments.dropFirst()), of: self)
        {
            self.exit(withError: failure(CommandProblem(usage: ValidationError("\(unknown)")), json: false))
        }
        // The library would print the words of the command line as they are.
        let code = self.exitCode(for: error)
        let lines = self.fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false)
        for line in lines where lines.count > 1 || !line.isEmpty {
            printEscaped(String(line), to: code == .success ? STDOUT_FILENO : STDERR_FILENO)
        }
        self.exit(withError: code)
    }
}

/// The options of every command that uses the database.
struct ConfigurationOptions: ParsableArguments {
    @Option(name: .customLong("config"), help: "The configuration file. Default: built-in settings.")
    var file: String?

    func load() throws -> Configuration {
        try Configuration.load(file: self.file, environment: ProcessInfo.processInfo.environment)
    }
}

/// What is true of each command that does what administrators may.
let localDiscussion = """
    Also while the server runs, over its local admin socket: as root, or as the server's user.
    """

/// Why a command cannot do its task, worded for the operator.
struct CommandFailure: Error, CustomStringConvertible {
    let description: String
    let code: CommandProblem.Code

    init(_ description: String, _ code: CommandProblem.Code = .commandFailed) {
        self.description = description
        self.code = code
    }
}

/// Runs a command's work, and turns errors that an operator can fix into one line and an exit code; with `json`, into a
/// problem that scripts can read.
func reportingErrors(json: Bool = false, _ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let error as ValidationError where json {
        throw failure(CommandProblem(usage: error), json: true)
    } catch {
        guard let problem = CommandProblem(error) else { throw error }
        throw failure(problem, json: json)
    }
}

/// Prints the error to standard error, after all log lines; a failure to print does not change the exit code.
private func failure(_ problem: CommandProblem, json: Bool) -> ExitCode {
    LogWriter.standardError.flush(within: .milliseconds(500))
    let text = json ? String(decoding: problem.json.bytes, as: UTF8.self) : "sealpost: \(problem.detail)"
    printEscaped(text, to: STDERR_FILENO)
    return ExitCode(problem.exitCode)
}

/// Keeps the database open while `body` runs; with `admitsMoved` also one that was moved to another place.
func withStore(
    _ configuration: Configuration,
    admitsMoved: Bool = false,
    _ body: (any Store) async throws -> Void
) async throws {
    let store = try configuration.openStore(admitsMoved: admitsMoved)
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(store))
    } catch {
        result = .failure(error)
    }
    await store.close()
    try result.get()
}

extension Configuration {
    /// Opens the database for a command, while no server has it open. A keyring created now is also the server's.
    ///
    /// Throws `CommandFailure` if the files are another user's.
    func openStore(admitsMoved: Bool = false) throws -> any Store {
        try self.refuseForeignFiles()
        var options = StoreOptions()
        options.now = self.makeClock().now
        options.admitsMoved = admitsMoved
        // A command can end pushes, too: by deleting their user.
        options.events = self.events.stored
        options.release = Version.current
        options.isListedAfterEnd = false
        options.dayChain = DayKeyFile(self.dayKeys)
        options.mark = TimelineFile(self.timeline)
        return try self.storePlace.open(KeyringFile(self.keyring).loadOrCreate(beside: self.storePlace), options)
    }

    /// The level as the logging library has it.
    var level: Logger.Level { Logger.Level(rawValue: self.logLevel) ?? .info }

    /// With a `threshold`, that decides what is logged, and not the configured level.
    func makeLogger(threshold: LogThreshold? = nil) -> Logger {
        let threshold = threshold ?? LogThreshold(self.level)
        LogWriter.standardError.use(self.logFormat == "json" ? .json : .text)
        return Logger(label: "sealpost") { _ in LineLogHandler(threshold: threshold, writer: .standardError) }
    }
}

extension Logger {
    /// For checks whose findings are told in another way.
    static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}
