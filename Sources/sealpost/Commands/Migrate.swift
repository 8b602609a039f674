import ArgumentParser
import PushAPI
import PushApplication
import PushStore

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Migrate the database's schema.",
        discussion: "`serve` migrates automatically; this command does so beforehand. It creates no database."
    )

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors(json: self.output.json, using: self.options.file) {
            let configuration = try self.options.load()
            try await withStore(configuration, creates: false) { _ in }
            let place = "\(configuration.storePlace)"
            self.output.show(.object([.init("Database", .string(place))]), "\(place) is up to date")
        }
    }
}
