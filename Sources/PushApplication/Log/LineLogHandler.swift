import Foundation
import Logging

/// Passes each event to the writer as one line. No value in an event can begin a new line or a new
/// field.
struct LineLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    let writer: LogWriter
    private var threshold: LogThreshold

    /// A logger whose level follows later changes of `threshold`.
    init(threshold: LogThreshold, writer: LogWriter) {
        self.threshold = threshold
        self.writer = writer
    }

    init(logLevel: Logger.Level, writer: LogWriter) {
        self.init(threshold: LogThreshold(logLevel), writer: writer)
    }

    /// Setting this level does not change other loggers, as `LogHandler` requires.
    var logLevel: Logger.Level {
        get { self.threshold.level }
        set { self.threshold = LogThreshold(newValue) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        self.writer.write(
            LogLine(
                time: Date(),
                level: event.level,
                message: event.message.description,
                fields: metadata.map { ($0.key, $0.value.description) }
            )
        )
    }
}
