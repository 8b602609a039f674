import ArgumentParser
import PushStore

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring the database's schema up to date.",
        discussion: "`serve` does so by itself; this is for doing it beforehand."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await reportingErrors {
            let configuration = try self.options.load()
            try await withStore(configuration) { _ in }
            print("\(configuration.database) is up to date")
        }
    }
}
