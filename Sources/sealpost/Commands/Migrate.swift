import ArgumentParser
import PushAPI
import PushApplication
import PushStore

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Migrate the database's schema.",
        discussion: "`serve` migrates automatically; this command does so beforehand."
    )

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors(json: self.output.json) {
            let configuration = try self.options.load()
            try await withStore(configuration) { _ in }
            let place = "\(configuration.storePlace)"
            self.output.show(.object([.init("Database", .string(place))]), "\(place) is up to date")
        }
    }
}
