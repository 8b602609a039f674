import ArgumentParser
import PushAPI
import PushApplication
import PushSQLite

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore the database from a backup, while the server is stopped.",
        discussion: """
            The backup is verified, with the keyring, before anything changes. With --replace, a database that exists is kept \
            beside, at its path and .before-restore, with its log (.before-restore-wal): remove both once the restored one serves.
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var output: OutputOptions

    @Argument(help: "The backup file.")
    var file: String

    @Flag(help: "Replace an existing database, which stays beside it as FILE.before-restore.")
    var replace = false

    @Flag(
        help:
            "Accept a file without a keyed hash, from an earlier version or another tool. Use it only if you trust the file."
    )
    var withoutHash = false

    func run() async throws {
        try await reportingErrors(json: self.output.json, using: self.options.file) {
            let configuration = try self.options.load()
            let database = try configuration.databaseFile(insteadUse: "pg_restore or psql")
            try configuration.refuseForeignFiles()
            let keyring = try KeyringFile(configuration.keyring).load()
            try await CopyWatch().run {
                try database.restore(
                    self.file,
                    keyring: keyring,
                    isReplacing: self.replace,
                    withoutHash: self.withoutHash,
                    begins: $0
                )
            }
            self.output.show(
                .object([.init("Database", .string("\(database)")), .init("File", .string(self.file))]),
                "\(database) restored from \(self.file)"
            )
        }
    }
}
