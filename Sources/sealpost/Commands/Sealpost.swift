import ArgumentParser
import Foundation
import Logging
import PushSQLite
import PushStore
import Reactor

/// The command line.
@main
struct Sealpost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sealpost",
        abstract: "A push server that keeps payloads at home and sends only an id through the push services.",
        version: Version.current,
        subcommands: [
            Serve.self, Demo.self, Simulate.self, UserCommand.self, TokenCommand.self, AuditCommand.self,
            KeysCommand.self, SigningKeysCommand.self, BackupCommand.self, RestoreCommand.self, Migrate.self,
            DoctorCommand.self,
        ]
    )
}

/// What every command that touches the database takes.
struct ConfigurationOptions: ParsableArguments {
    @Option(name: .customLong("config"), help: "The configuration file. Default: built-in settings.")
    var file: String?

    func load() throws -> Configuration {
        try Configuration.load(file: self.file, environment: ProcessInfo.processInfo.environment)
    }
}

/// sysexits(3): what can only be mended by changing the configuration.
private let badConfiguration: Int32 = 78

/// What a command was asked to do and cannot, in words for the operator.
struct CommandFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Runs a command's work and turns what an operator can mend into one line and an exit code.
func reportingErrors(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let error as ConfigurationError {
        throw failure(badConfiguration, error)
    } catch let error as StoreError where error.isConfiguration {
        throw failure(badConfiguration, error)
    } catch let error as CommandFailure {
        throw failure(1, error)
    } catch let error as StoreError {
        throw failure(1, error)
    } catch let error as SystemError {
        throw failure(1, error)
    }
}

/// Says on standard error what is wrong, behind all that is logged; what cannot be said there leaves the exit code alone.
private func failure(_ code: Int32, _ error: any Error) -> ExitCode {
    LogWriter.standardError.flush(within: .milliseconds(500))
    _ = LogFile.write(Array("sealpost: \(error)\n".utf8), to: STDERR_FILENO)
    return ExitCode(code)
}

/// Opens the database as long as `body` runs.
func withStore(_ configuration: Configuration, _ body: (any Store) async throws -> Void) async throws {
    let store = try configuration.openStore()
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(store))
    } catch {
        result = .failure(error)
    }
    await store.close()
    try result.get()
}

/// Prints a line at once; `print` keeps it back when the output is a pipe. Where it cannot be printed the command has failed,
/// and ends.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    guard LogFile.write(bytes, to: STDOUT_FILENO) < bytes.count else { return }
    let reason = String(cString: strerror(errno))
    _ = LogFile.write(Array("sealpost: standard output cannot be written: \(reason)\n".utf8), to: STDERR_FILENO)
    exit(1)
}

extension Configuration {
    /// Where the store lies: the only place that knows of which kind it is.
    var storePlace: any StorePlace { SQLiteDatabase(path: self.database) }

    /// Opens the database as a command does, while no server has it. A keyring made now is the server's, too.
    func openStore() throws -> any Store {
        try self.storePlace.open(KeyringFile(self.keyring).loadOrCreate(beside: self.storePlace))
    }

    func makeLogger() -> Logger {
        let level = Logger.Level(rawValue: self.logLevel) ?? .info
        LogWriter.standardError.use(self.logFormat == "json" ? .json : .text)
        return Logger(label: "sealpost") { _ in LineLogHandler(logLevel: level, writer: .standardError) }
    }
}
