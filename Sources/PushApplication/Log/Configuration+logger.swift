package import Logging

extension Configuration {
    /// The configured level, as a level of swift-log.
    package var level: Logger.Level { Logger.Level(rawValue: self.logLevel) ?? .info }

    /// Makes the logger of the process. A `threshold` replaces the configured level.
    package func makeLogger(threshold: LogThreshold? = nil) -> Logger {
        let threshold = threshold ?? LogThreshold(self.level)
        LogWriter.standardError.use(self.logFormat == "json" ? .json : .text)
        return Logger(label: "sealpost") { _ in LineLogHandler(threshold: threshold, writer: .standardError) }
    }
}

extension Logger {
    /// A logger that drops all events: for checks that return their findings.
    static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}
