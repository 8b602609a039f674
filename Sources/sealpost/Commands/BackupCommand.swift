import ArgumentParser
import PushSQLite

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Back up the database, also while the server is running.",
        discussion: """
            The copy is of one moment, and sealed as the database is: whoever restores it needs the keyring of that day. How \
            it is restored is in docs/operations.md.
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The backup file to create.")
    var file: String

    func run() async throws {
        try await reportingErrors {
            try SQLiteDatabase(path: try self.options.load().database).backUp(to: self.file)
            print("backup written to \(self.file)")
        }
    }
}
