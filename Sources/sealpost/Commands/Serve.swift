import ArgumentParser
import SocketHTTP
import UnixSignals

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the server until SIGTERM or SIGINT; SIGHUP reads certificates, keys and credentials again."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await reportingErrors {
            let protection = MemoryProtection()
            let configuration = try self.options.load()
            let logger = configuration.makeLogger()
            protection.report(to: logger)
            let listeners = try SocketActivation.takeListeners()
            let application = try Application(
                configuration,
                logger: logger,
                listeners: listeners,
                stoppingOn: [.sigterm, .sigint]
            )
            DescriptorLimit.raise(for: configuration.limits.maxConnections, logger: logger)
            try await application.run(reloadingOn: [.sighup])
        }
    }
}
