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
            let store = try Store(path: configuration.database)
            await store.close()
            print("\(configuration.database) is up to date")
        }
    }
}
