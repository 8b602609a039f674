import ArgumentParser
import UnixSignals

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Run the server until SIGTERM or SIGINT.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await reportingErrors {
            let configuration = try self.options.load()
            let logger = configuration.makeLogger()
            try await Application(configuration, logger: logger, stoppingOn: [.sigterm, .sigint]).run()
        }
    }
}
