import ArgumentParser
import PushStore

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Migrate the database's schema.",
        discussion: "`serve` migrates automatically; this command does so beforehand."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await reportingErrors {
            let configuration = try self.options.load()
            try await withStore(configuration) { _ in }
            print("\(configuration.storePlace) is up to date")
        }
    }
}
