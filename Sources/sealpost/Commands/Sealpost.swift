import ArgumentParser
import Foundation
import Logging
import PushStore
import Reactor

/// The command line.
@main
struct Sealpost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sealpost",
        abstract: "Keeps what is secret at home, and sends only a claim ticket through other people's networks.",
        subcommands: [
            Serve.self, Demo.self, Simulate.self, UserCommand.self, TokenCommand.self, AuditCommand.self,
            KeysCommand.self, SigningKeysCommand.self, BackupCommand.self, Migrate.self,
            DoctorCommand.self,
        ]
    )
}

/// What every command that touches the database takes.
struct ConfigurationOptions: ParsableArguments {
    @Option(name: .customLong("config"), help: "The configuration file; without one, the defaults hold.")
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
        FileHandle.standardError.write(Data("sealpost: \(error)\n".utf8))
        throw ExitCode(badConfiguration)
    } catch let error as StoreError where error.isConfiguration {
        FileHandle.standardError.write(Data("sealpost: \(error)\n".utf8))
        throw ExitCode(badConfiguration)
    } catch let error as CommandFailure {
        FileHandle.standardError.write(Data("sealpost: \(error)\n".utf8))
        throw ExitCode(1)
    } catch let error as StoreError {
        FileHandle.standardError.write(Data("sealpost: \(error)\n".utf8))
        throw ExitCode(1)
    } catch let error as SystemError {
        FileHandle.standardError.write(Data("sealpost: \(error)\n".utf8))
        throw ExitCode(1)
    }
}

/// Opens the database as long as `body` runs.
func withStore(_ configuration: Configuration, _ body: (Store) async throws -> Void) async throws {
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

/// Prints a line at once; `print` keeps it back when the output is a pipe.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

extension Configuration {
    /// Opens the database as a command does, while no server has it. A keyring made now is the server's, too.
    func openStore() throws -> Store {
        try Store(path: self.database, keyring: KeyringFile.load(self.keyring, database: self.database))
    }

    func makeLogger() -> Logger {
        let level = Logger.Level(rawValue: self.logLevel) ?? .info
        let format: LineLogHandler.Format = self.logFormat == "json" ? .json : .text
        return Logger(label: "sealpost") { _ in LineLogHandler(logLevel: level, format: format) }
    }
}
