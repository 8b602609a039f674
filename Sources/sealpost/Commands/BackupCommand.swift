import ArgumentParser
import PushAPI
import PushSQLite

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Back up the database, also while the server is running.",
        discussion: """
            The copy is of one moment, verified, and encrypted as the database is: `restore` needs the keyring of that day.
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var output: OutputOptions

    @Argument(help: "The backup file to create.")
    var file: String

    func run() async throws {
        try await reportingErrors(json: self.output.json) {
            let database = try self.options.load().databaseFile(insteadUse: "pg_dump or pg_basebackup")
            try await CopyWatch().run { try database.backUp(to: self.file, begins: $0) }
            self.output.show(.object([.init("File", .string(self.file))]), "backup written to \(self.file)")
        }
    }
}
