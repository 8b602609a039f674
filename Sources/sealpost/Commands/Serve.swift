import ArgumentParser
import Foundation
import PushApplication
import SocketHTTP
import UnixSignals

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the server until SIGTERM or SIGINT; SIGHUP reloads files, quotas, limits and the log level."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        // A reload must read the same file: if that file is missing, another file, or the built-in
        // settings, would replace the operator's quotas and limits.
        let file = self.options.file
        try await reportingErrors(using: file) {
            let protection = MemoryProtection()
            let configuration = try file.load()
            if geteuid() == 0 { try configuration.refuseForeignFiles(ofServer: true) }
            let threshold = LogThreshold(configuration.level)
            let logger = configuration.makeLogger(threshold: threshold)
            if let file = configuration.logFile { try LogWriter.standardError.append(to: file) }
            protection.report(to: logger)
            let listeners = try SocketActivation.takeListeners()
            let manager = try ServiceManager.take()
            let application = try await Application.opened(
                configuration,
                listeners: listeners,
                manager: manager,
                logger: logger
            ) { listeners in
                try Application(
                    configuration,
                    logger: logger,
                    listeners: listeners,
                    manager: manager,
                    stoppingOn: [.sigterm, .sigint]
                )
            }
            if let link = try await application.setupLink() {
                // The link is printed apart from the log, which may go to other machines.
                // systemd's journal gets the link and the log. That is acceptable, because the
                // link is valid only once and only for an hour.
                let line = "There are no users yet. Create the first administrator here, within an hour: \(link)"
                printEscaped(line, to: STDOUT_FILENO)
            }
            DescriptorLimit.raise(for: configuration.limits.maxConnections, logger: logger)
            let reload = ConfigurationReload(configuration, threshold: threshold, load: file.load)
            try await application.run(reloadingOn: [.sighup], reload)
        }
    }
}
