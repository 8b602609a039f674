import ArgumentParser
import Foundation
import PushApplication

/// The command line.
@main
struct Sealpost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sealpost",
        abstract: "A push server that keeps payloads on your server and sends only an id through the push providers.",
        version: Version.text,
        subcommands: [
            InitCommand.self, Serve.self, Demo.self, Simulate.self, UserCommand.self, TokenCommand.self,
            AuditCommand.self, StatusCommand.self, DeliveriesCommand.self, WhyCommand.self, SendCommand.self,
            KeysCommand.self, SigningKeysCommand.self, ClockCommand.self, BackupCommand.self, RestoreCommand.self,
            MoveCommand.self,
            Migrate.self, DoctorCommand.self, HealthCommand.self,
        ]
    )

    static func main() async {
        await self.runProgram()
    }
}

/// The options of every command that uses the database.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: """
            The configuration file. Default: SEALPOST_CONFIG, else ./sealpost.yaml, else /etc/sealpost/sealpost.yaml, else the built-in \
            settings.
            """
    )
    var option: String?

    /// The file that the command uses, which its errors name.
    var file: ConfigurationFile {
        ConfigurationFile(option: self.option, environment: ProcessInfo.processInfo.environment)
    }

    func load() throws -> Configuration { try self.file.load() }
}

/// A part of the help text of each command that does the work of administrators.
let localDiscussion = """
    If the server is running, the command asks it over its local admin socket. Run it as root or as the server's user.
    """
