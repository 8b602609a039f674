package import Logging

extension Configuration {
    /// The level as the logging library has it.
    package var level: Logger.Level { Logger.Level(rawValue: self.logLevel) ?? .info }

    /// With a `threshold`, that decides what is logged, and not the configured level.
    package func makeLogger(threshold: LogThreshold? = nil) -> Logger {
        let threshold = threshold ?? LogThreshold(self.level)
        LogWriter.standardError.use(self.logFormat == "json" ? .json : .text)
        return Logger(label: "sealpost") { _ in LineLogHandler(threshold: threshold, writer: .standardError) }
    }
}

extension Logger {
    /// For checks whose findings are told in another way.
    static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}
