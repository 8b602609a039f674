package import Logging

extension Configuration {
    /// The level of the logging library.
    package var level: Logger.Level { Logger.Level(rawValue: self.logLevel) ?? .info }

    /// A `threshold` replaces the configured level.
    package func makeLogger(threshold: LogThreshold? = nil) -> Logger {
        let threshold = threshold ?? LogThreshold(self.level)
        LogWriter.standardError.use(self.logFormat == "json" ? .json : .text)
        return Logger(label: "sealpost") { _ in LineLogHandler(threshold: threshold, writer: .standardError) }
    }
}

extension Logger {
    /// A logger for checks that report their findings in another way.
    static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}
