import ArgumentParser
import ServiceLifecycle

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Run the server until SIGTERM or SIGINT.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await reportingErrors {
            let configuration = try self.options.load()
            let application = try Application(configuration, logger: configuration.makeLogger())
            try await application.run(signals: [.sigterm, .sigint])
        }
    }
}
